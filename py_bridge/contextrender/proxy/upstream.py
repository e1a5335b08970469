"""The providers' side: one pool of connections, requests sent as they are, answers read as they come."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from contextrender.proxy.headers import Headers
from contextrender.proxy.settings import ProxySettings


class UpstreamError(Exception):
    """The provider gave no answer; `status` is what a gateway says then, the text is for the client."""

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        super().__init__(text)


class Upstream:
    """Sends requests to providers. Nothing is followed, retried, decoded or remembered (no cookies)."""

    def __init__(self, settings: ProxySettings) -> None:
        logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs URLs, and some carry keys
        self._settings = settings
        self._timeout = httpx.Timeout(settings.read_seconds, connect=settings.connect_seconds, pool=None).as_dict()
        self._client: httpx.AsyncClient | None = None

    def _open_client(self) -> httpx.AsyncClient:
        if self._client is None:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=256, keepalive_expiry=30.0)
            self._client = httpx.AsyncClient(limits=limits)
        return self._client

    async def aclose(self) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    @asynccontextmanager
    async def send(
        self, method: str, url: str, headers: Headers, content: bytes | AsyncIterator[bytes] | None
    ) -> AsyncIterator[httpx.Response]:
        """The answer to a request, its body still to be read with `raw_body`. Raises UpstreamError."""
        client = self._open_client()
        request = httpx.Request(
            method, url, headers=headers, content=content, extensions={"timeout": self._timeout}
        )
        with _named_errors(request.url.host):
            response = await client.send(request, stream=True)
        try:
            yield response
        finally:
            await response.aclose()


async def raw_body(response: httpx.Response) -> AsyncIterator[bytes]:
    """The body as it comes, undecoded. Raises UpstreamError where it is cut."""
    with _named_errors(response.request.url.host):
        async for chunk in response.aiter_raw():
            yield chunk


class _named_errors:
    """Turns httpx's errors into UpstreamError; the host is named, no path, query or key."""

    def __init__(self, host: str) -> None:
        self._host = host

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: object) -> None:
        if isinstance(error, httpx.TimeoutException):
            raise UpstreamError(504, f"{self._host} did not answer in time") from error
        if isinstance(error, httpx.ConnectError):
            raise UpstreamError(502, f"no connection to {self._host}") from error
        if isinstance(error, httpx.HTTPError | httpx.InvalidURL | httpx.StreamError):
            raise UpstreamError(502, f"{self._host} broke the connection ({type(error).__name__})") from error
