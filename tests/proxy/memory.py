"""Sessions in this process's memory, for tests of the proxy that need no server."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from contextrender.graph.archetypes import Session as SessionNode
from contextrender.server.records import options_record
from contextrender.server.stored import StoredSession, Synced
from contextrender.transcripts.format import Usage
from contextrender.transcripts.identity import Begun


class MemorySessions:
    """As server.sessions.Sessions, but nothing is stored."""

    def __init__(self, policy: str = "default", budget: int = 6000, embedder: str | None = None) -> None:
        self._options = policy, budget, embedder
        self._lock = threading.RLock()
        self.held: dict[str, StoredSession] = {}

    def open_session(self, owner: str, *, key: str, wire: str, model: str | None) -> str:
        """The session of this key."""
        with self._lock:
            if key not in self.held:
                options = options_record(*self._options, model, wire, None)
                self.held[key] = StoredSession(SessionNode(sid=key, options=options))
            return key

    def sync(self, owner: str, sid: str, messages: Sequence[Mapping[str, Any]], known: Begun) -> Synced:
        """Follow and render."""
        with self._lock:
            session = self.held[sid]
            session.follow(known, messages)
            return Synced(session.render(), session.begun(), session.history.budgeted_tokens())

    def extend(self, owner: str, sid: str, messages: Sequence[Mapping[str, Any]], known: Begun) -> Begun:
        """Follow."""
        with self._lock:
            return self.held[sid].follow(known, messages, ends=False)

    def record_usage(self, owner: str, sid: str, snapshot_id: str, model: str, usage: Usage) -> None:
        """Keep it."""
        with self._lock:
            self.held[sid].record_usage(snapshot_id, usage)
