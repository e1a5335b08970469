"""Python client of `contextrender serve`: `Client` and `AsyncClient`, whose sessions work like `Session`."""

from contextrender.client.asynchronous import AsyncClient, AsyncRemoteSession
from contextrender.client.blocking import Client, RemoteSession

__all__ = ["AsyncClient", "AsyncRemoteSession", "Client", "RemoteSession"]
