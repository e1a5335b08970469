"""What the proxy needs of the place where sessions are kept, and such a place in this process's memory."""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

from contextrender.errors import NotFoundError
from contextrender.history import History
from contextrender.proxy.ledger import Call
from contextrender.proxy.transcript import Begun
from contextrender.session import Rendered, Session
from contextrender.transcripts.format import Usage
from contextrender.transcripts.identity import next_digest


class Synced(NamedTuple):
    """A render of a conversation; how much of it there is; and the tokens of all of it, as the budget counts them."""

    rendered: Rendered
    known: Begun
    full_tokens: int


class Sessions(Protocol):
    """Sessions by owner. All methods block, and may be called from any thread; they raise ContextRenderErrors."""

    def open_session(self, owner: str, key: str, wire: str, model: str) -> str:
        """The id of the owner's session with this key; made where there is none yet."""

    def sync(self, owner: str, sid: str, known: Begun, tail: Sequence[Mapping[str, Any]]) -> Synced:
        """Render the conversation that begins as `known` says and goes on with `tail`; ends the head there.

        Raises NotFoundError where no branch begins so.
        """

    def extend(self, owner: str, sid: str, known: Begun, tail: Sequence[Mapping[str, Any]]) -> Begun:
        """Have `tail` behind `known`, without a render; a branch that goes on like this is left as it is.

        Raises NotFoundError where no branch begins so.
        """

    def record_usage(self, owner: str, sid: str, snapshot_id: str, model: str, usage: Usage) -> None:
        """Keep what the provider counted in the call that sent this render."""

    def calls(self, owner: str, sid: str) -> list[Call]:
        """The model calls of a session, in order."""


class _Held:
    """One session with its lock, its digests by branch, and its calls by snapshot."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.lock = threading.Lock()
        self.digests: dict[int, list[str]] = {}
        self.calls: dict[str, Call] = {}

    def digests_of(self, branch: History) -> list[str]:
        chain = self.digests.setdefault(id(branch), [""])
        for entry in branch.entries[len(chain) - 1 :]:
            chain.append(next_digest(chain[-1], entry.fingerprint))
        return chain

    def branch(self, known: Begun) -> History:
        """The branch that begins so, the head if it does."""
        for branch in (self.session.history, *reversed(self.session.branches)):
            chain = self.digests_of(branch)
            if known.events < len(chain) and chain[known.events] == known.digest:
                return branch
        raise NotFoundError("no branch of the session begins like that")


class MemorySessions:
    """Sessions in memory; the longest unused go when there are more than `most`."""

    def __init__(
        self, policy: str = "default", budget: int | str = 6000, embedder: str | None = None, most: int = 256
    ) -> None:
        self._options: Any = {"policy": policy, "budget": budget, "embedder": embedder}
        self._most = most
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._lock = threading.Lock()

    def open_session(self, owner: str, key: str, wire: str, model: str) -> str:
        """As in Sessions."""
        sid = blake2b(f"{owner}\0{key}".encode(), digest_size=12).hexdigest()
        with self._lock:
            if sid not in self._held:
                self._held[sid] = _Held(Session(wire=wire, model=model or None, **self._options))
                while len(self._held) > self._most:
                    self._held.popitem(last=False)
            self._held.move_to_end(sid)
        return sid

    def _get(self, sid: str) -> _Held:
        with self._lock:
            found = self._held.get(sid)
        if found is None:
            raise NotFoundError(f"no session {sid!r}")
        return found

    def sync(self, owner: str, sid: str, known: Begun, tail: Sequence[Mapping[str, Any]]) -> Synced:
        """As in Sessions."""
        held = self._get(sid)
        with held.lock:
            session = held.session
            branch, same = self._follow(held, known, tail)
            at = known.events + len(same)
            if at < len(branch):
                branch = branch.fork(at)
                session.branches.append(branch)
            session.history = branch
            events = session.wire.parse(tail)[len(same) :]
            if events:
                session.append(events)
            rendered = session.render()
            full = session.history.budgeted_tokens()
            held.calls[rendered.snapshot_id] = Call(full, rendered.tokens)
            return Synced(rendered, self._end(held, branch), full)

    def extend(self, owner: str, sid: str, known: Begun, tail: Sequence[Mapping[str, Any]]) -> Begun:
        """As in Sessions."""
        held = self._get(sid)
        with held.lock:
            session = held.session
            branch, same = self._follow(held, known, tail)
            events = session.wire.parse(tail)
            at = known.events + len(same)
            if len(same) < len(events):
                head = session.history
                if at < len(branch):
                    branch = branch.fork(at)
                    session.branches.append(branch)
                session.history = branch
                session.append(events[len(same) :])
                session.history = head
            chain = held.digests_of(branch)
            return Begun(known.events + len(events), chain[known.events + len(events)])

    def record_usage(self, owner: str, sid: str, snapshot_id: str, model: str, usage: Usage) -> None:
        """As in Sessions."""
        held = self._get(sid)
        with held.lock:
            call = held.calls.get(snapshot_id)
            if call is None:
                raise NotFoundError(f"no snapshot {snapshot_id!r}")
            held.calls[snapshot_id] = Call(call.full_tokens, call.sent_tokens, model, usage)

    def calls(self, owner: str, sid: str) -> list[Call]:
        """As in Sessions."""
        return list(self._get(sid).calls.values())

    @staticmethod
    def _follow(held: _Held, known: Begun, tail: Sequence[Mapping[str, Any]]) -> tuple[History, list[bytes]]:
        """The branch that goes on longest like `tail` behind `known`, and the fingerprints they share there."""
        prints = [event.fingerprint for event in held.session.wire.parse(tail)]
        best: tuple[History, list[bytes]] | None = None
        head = held.session.history
        for branch in (head, *(other for other in reversed(held.session.branches) if other is not head)):
            chain = held.digests_of(branch)
            if known.events >= len(chain) or chain[known.events] != known.digest:
                continue
            same = []
            for entry, mine in zip(branch.entries[known.events :], prints, strict=False):
                if entry.fingerprint != mine:
                    break
                same.append(mine)
            if best is None or len(same) > len(best[1]):
                best = branch, same
            if len(same) == len(prints):
                break
        if best is None:
            raise NotFoundError("no branch of the session begins like that")
        return best

    @staticmethod
    def _end(held: _Held, branch: History) -> Begun:
        chain = held.digests_of(branch)
        return Begun(len(chain) - 1, chain[-1])
