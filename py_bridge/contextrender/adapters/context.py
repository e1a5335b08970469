"""One conversation as an adapter renders it: whatever fails, the program sends what it would have sent without us."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, Protocol

from contextrender.client import Client
from contextrender.errors import InputError, NotFoundError
from contextrender.events import OUTSIDE_ROLES
from contextrender.trace import Message, Rendered

log = logging.getLogger("contextrender")

SECONDS = 2.0
"""How long an adapter waits for the server."""
PAUSE = 30.0
"""Seconds without a try after the server did not answer, so that a run is not slowed down at each call."""


class Syncs(Protocol):
    """What renders: a `Session`, or one on a server."""

    def sync(self, messages: Sequence[Message], budget: int | None = None) -> Rendered:
        """Take the whole conversation and render it."""


class Context:
    """A conversation. Thread-safe.

    key: names it on the server, so that a resumed run goes on with it; "" for a new one. client: None for the server of
    this machine. options: as of `Client.open_session` (budget, policy, …). session: what renders, instead of a server.
    """

    def __init__(
        self, key: str = "", client: Client | None = None, session: Syncs | None = None, **options: Any
    ) -> None:
        self._open = {**options, "key": key}
        self._client, self._session, self._given = client, session, session
        self._lock = threading.Lock()
        self._again = 0.0
        self.failures = 0
        """Calls that went out as they were because something failed."""

    def render(self, messages: Sequence[Message]) -> Rendered | None:
        """What to send instead of these chat-completions messages; None where they are to be sent as they are."""
        if time.monotonic() < self._again:
            self.failures += 1
            return None
        try:
            with self._lock:
                rendered = self._opened().sync(messages)
        except Exception as error:
            self.failures += 1
            if not isinstance(error, InputError):
                self._again = time.monotonic() + PAUSE
            if isinstance(error, NotFoundError):
                self._session = self._given
            log.warning("sent as it is: %s", error)
            return None
        return None if rendered.messages == list(messages) else rendered

    def rewritten(self, messages: Sequence[Message]) -> list[Message]:
        """The messages to send instead of these; the system messages in front are no part of the conversation."""
        lead = list(takewhile(lambda message: message.get("role") in OUTSIDE_ROLES, messages))
        rendered = self.render(messages[len(lead) :])
        return list(messages) if rendered is None else [*lead, *rendered.messages]

    def _opened(self) -> Syncs:
        if self._session is None:
            self._client = self._client or Client(timeout=SECONDS)
            self._session = self._client.open_session(**self._open)
        return self._session


def or_as_it_is[T](work: Callable[[], T], given: T) -> T:
    """What `work` makes of something, or what was given where it fails: a program is never stopped by us."""
    try:
        return work()
    except Exception as error:
        log.warning("sent as it is: %s", type(error).__name__)
        return given


def placed[T](
    rendered: Rendered, sent: Sequence[Message], given: Sequence[T], made: Callable[[T | None, Message], T]
) -> list[T]:
    """The program's own objects for a render: `given[i]`, which was sent as `sent[i]`, where it is shown unchanged.

    made: makes an object of a message that is not as it was: of a note (None), or of a shortened message.
    """
    found: list[T] = []
    for message, source in zip(rendered.messages, rendered.sources, strict=True):
        if source is not None and message == sent[source]:
            found.append(given[source])
        else:
            found.append(made(None if source is None else given[source], message))
    return found
