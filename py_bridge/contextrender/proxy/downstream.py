"""The client's side of an exchange, over ASGI: its body, its patience, and what it is sent."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, MutableMapping
from typing import Any

from contextrender.proxy.headers import Headers
from contextrender.proxy.replies import error_body

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class HungUpError(Exception):
    """The client is gone."""


class TooLargeError(Exception):
    """The body is larger than the limit."""


class Downstream:
    """One request of a client. Sending waits while the client is slow, so nothing piles up here."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._body_read = asyncio.Event()
        self.started = False
        """Whether the status line is out, so that no error can be answered any more."""

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes. Raises HungUpError."""
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise HungUpError
            if chunk := message.get("body", b""):
                yield chunk
            if not message.get("more_body"):
                self._body_read.set()
                return

    async def body(self, limit: int) -> bytes:
        """The whole body. Raises HungUpError, and TooLargeError once more than `limit` bytes have come."""
        pieces: list[bytes] = []
        size = 0
        async for chunk in self.chunks():
            size += len(chunk)
            if size > limit:
                raise TooLargeError
            pieces.append(chunk)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def while_connected(self, work: Coroutine[Any, Any, None]) -> None:
        """Do `work`, which is cancelled as soon as the client is gone; raises HungUpError then."""
        working = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(self._gone())
        try:
            await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            working.cancel()
            await asyncio.wait((working,))
            if working.cancelled():
                raise HungUpError
            return working.result()
        finally:
            for task in (working, gone):
                task.cancel()

    async def _gone(self) -> None:
        await self._body_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def start(self, status: int, headers: Headers) -> None:
        """Send the status line and the headers."""
        self.started = True
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def write(self, chunk: bytes) -> None:
        """Send a part of the body."""
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def end(self) -> None:
        """The body is complete. An answer that is not ended breaks the connection, so that a client sees the cut."""
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def answer(self, status: int, body: bytes, headers: Headers | None = None) -> None:
        """A whole JSON answer of our own."""
        standard = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await self.start(status, [*standard, *(headers or [])])
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def fail(self, wire: str, status: int, message: str) -> None:
        """An error of our own in the client's wire format; nothing if the answer has begun."""
        if not self.started:
            closing = [(b"connection", b"close")] if status == 413 else None
            await self.answer(status, error_body(wire, status, message), closing)
