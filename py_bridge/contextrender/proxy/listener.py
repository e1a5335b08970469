"""Reads an answer on its way to the client, so that what the model said is kept. Never raises, whatever the bytes."""

import json
from collections.abc import Mapping

from contextrender.errors import InputError
from contextrender.transcripts.format import Reply, StreamReader, WireFormat

MOST_BYTES = 32 * 1024 * 1024
"""A longer answer is not kept."""


class Listener:
    """Hears one answer; `reply` tells what was said so far."""

    def __init__(self, form: WireFormat) -> None:
        self._form = form
        self._stream: StreamReader | None = None
        self._whole: list[bytes] | None = None
        self._size = 0

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the status and headers (lower-case names); only a successful plain answer is listened to."""
        if status != 200 or headers.get("content-encoding", "identity") != "identity":
            return
        if headers.get("content-type", "").startswith("text/event-stream"):
            self._stream = self._form.stream_reader()
        else:
            self._whole = []

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the body."""
        self._size += len(chunk)
        if self._size > MOST_BYTES:
            self._stream = self._whole = None
        elif self._stream is not None:
            self._stream.feed(chunk)
        elif self._whole is not None:
            self._whole.append(chunk)

    def reply(self) -> Reply | None:
        """What the model said, as far as it came; None where that can't be told."""
        if self._stream is not None:
            return self._stream.reply()
        if not self._whole:
            return None
        try:
            response = json.loads(b"".join(self._whole))
            return self._form.reply(response)
        except (ValueError, RecursionError, InputError):
            return None
