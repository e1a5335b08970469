"""A `contextrender serve` process, and clients of it."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from contextrender.client import Client
from tests.proxy.provider import COMMAND, Running, started


@contextmanager
def served(data: Path, *options: str) -> Iterator[Running]:
    """The server on a free port, over this folder."""
    with started("serve", "--port", "0", "--data", str(data), *options) as running:
        wait_for(running)
        yield running


def wait_for(running: Running) -> None:
    """Until it answers, /healthz included."""
    transport = httpx.HTTPTransport(retries=20)
    with httpx.Client(transport=transport, timeout=30) as http:
        assert http.get(f"http://127.0.0.1:{running.port}/healthz").json() == {"status": "ok"}


def client(running: Running, data: Path, token: str = "") -> Client:
    """A client with the local token, or this one."""
    return Client(f"http://127.0.0.1:{running.port}", token or (data / "token").read_text())


def new_token(data: Path, name: str, *options: str) -> str:
    """A token made on the command line."""
    argv = [str(COMMAND), "token", "create", name, "--data", str(data), *options]
    return subprocess.run(argv, check=True, capture_output=True, text=True, env=os.environ).stdout.strip()
