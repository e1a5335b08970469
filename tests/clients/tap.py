"""A tap on the wire between a client program and what it talks to: forwards everything, keeps every request."""

import http.client
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from tests.clients.model import Handler, Request, Server, decoded_body
from tests.clients.offline import Offline

TAP_HEADER = "x-test-request"
"""Numbers the requests, so that what went in is found again in what came out behind the proxy."""


class Tap:
    """Listens in a place and forwards to a port there until the block ends."""

    def __init__(self, place: Offline, port: int) -> None:
        self.requests: list[Request] = []
        self.answers: dict[int, dict[str, str]] = {}
        """Number of a request -> the headers of its answer, in lower case."""
        self._place = place
        self._port = port
        self._lock = threading.Lock()
        listener = place.listen()
        self._server = Server(listener, _handler_of(self))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    def keep(self, request: Request) -> int:
        """Record a request; returns its number."""
        with self._lock:
            self.requests.append(request)
            return len(self.requests) - 1

    def connect(self) -> http.client.HTTPConnection:
        """A new connection to what is behind."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.sock = self._place.connect(self._port)
        return connection

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._server.stop()


def _chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while chunk := response.read1(65_536):
        yield chunk


def _handler_of(tap: Tap) -> type[Handler]:
    class TapHandler(Handler):
        def forward(self) -> None:
            raw = self.read_body()
            headers = dict(self.headers.items())
            body = decoded_body(raw, headers)
            number = tap.keep(Request(self.command, self.path, headers, raw, body, "", time.monotonic()))
            sent = {name: value for name, value in headers.items() if name.lower() not in _HOP_BY_HOP}
            sent |= {TAP_HEADER: str(number), "content-length": str(len(raw))}
            connection = tap.connect()
            try:
                connection.request(self.command, self.path, raw, sent)
                response = connection.getresponse()
                tap.answers[number] = {name.lower(): value for name, value in response.getheaders()}
                self.send_response_only(response.status, response.reason)
                for name, value in response.getheaders():
                    if name.lower() not in _HOP_BY_HOP:
                        self.send_header(name, value)
                if self.command == "HEAD":
                    self.send_header("content-length", "0")
                    self.end_headers()
                    return
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                self.send_chunks(_chunks(response))
            finally:
                connection.close()

        do_GET = do_POST = do_HEAD = forward

    return TapHandler


_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "te", "trailer", "upgrade"}
