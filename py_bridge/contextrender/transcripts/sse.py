"""Server-sent events, read incrementally. Malformed bytes are skipped, never an error."""

import json
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from contextrender.transcripts.format import StreamReader

MAX_LINE = 64 * 1024 * 1024
"""A line longer than this many bytes is dropped: no stream may fill the memory."""


class JsonEvents:
    """Cuts bytes into the JSON objects of their `data:` fields."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any]]:
        """The objects that `chunk` completes, in order."""
        self._rest += chunk
        if b"\n" not in chunk and b"\r" not in chunk:
            if len(self._rest) > MAX_LINE:
                self._rest.clear()
            return
        text = bytes(self._rest).replace(b"\r\n", b"\n")
        held = b"\r" if text.endswith(b"\r") else b""  # perhaps half of \r\n
        *lines, rest = text.removesuffix(held).replace(b"\r", b"\n").split(b"\n")
        self._rest = bytearray(rest + held)
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line:
                yield from self._end_event()

    def end(self) -> Iterator[dict[str, Any]]:
        """The object of an event that the stream's end left open."""
        yield from self.feed(b"\n\n")

    def _end_event(self) -> Iterator[dict[str, Any]]:
        data, self._data = b"\n".join(self._data), []
        try:
            value = json.loads(data) if data else None
        except (ValueError, RecursionError):
            return
        if isinstance(value, dict):
            yield value


class JsonStreamReader(StreamReader):
    """A reader that is told each JSON object of the stream."""

    def __init__(self) -> None:
        self._events = JsonEvents()

    def feed(self, chunk: bytes) -> None:
        for event in self._events.feed(chunk):
            try:
                self.take(event)
            except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError):
                continue  # an object of an unexpected shape says nothing to us

    @abstractmethod
    def take(self, event: dict[str, Any]) -> None:
        """Take one object of the stream."""
