"""A rendered input put together from entries of the history, altered results and inserted notes, priced as ours is."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from contextrender.history import Entry, History, Piece, Shown
from contextrender.layout import Layout
from contextrender.policy import policy_by_name
from contextrender.session import Plan, Session
from contextrender.steps import calls_of, in_order
from contextrender.tokens import ITEM_OVERHEAD, message_tokens
from contextrender.trace import Message

INSERTED = -1
"""The position of a piece that is no entry of the history: a user message whose text is the piece's note."""


def inserted(text: str, encoding: str) -> Shown:
    """A user message that the method wrote itself."""
    return Shown(Piece(INSERTED, note=text), message_tokens(text, encoding))


def altered(entry: Entry, text: str, encoding: str) -> Shown:
    """A tool result with another text."""
    return Shown(Piece(entry.position, note=text), message_tokens(text, encoding))


@dataclass(frozen=True, slots=True)
class Composed:
    """A `Decision`. A piece with a note is altered or inserted; all others are entries as they are."""

    session: Session
    history: History
    length: int
    shown: Sequence[Shown]
    budget: int

    @property
    def tokens(self) -> int:
        """Tok of all pieces but system messages and a user message of the history that is last (App. A.4)."""
        entries = self.history.entries
        current = self.length - 1
        return sum(
            tokens
            for piece, tokens in self.shown
            if piece.position == INSERTED
            or not (
                entries[piece.position].outside
                or (piece.position == current and entries[current].role == "user")
            )
        )

    @property
    def over_budget(self) -> bool:
        return self.tokens > self.budget

    @property
    def kept(self) -> list[int]:
        entries = self.history.entries
        return [p.position for p, _ in self.shown if p.position >= 0 and not p.note and entries[p.position].number >= 0]

    def messages(self) -> list[Message]:
        plain = [Shown(piece._replace(note=""), tokens) for piece, tokens in self.shown if piece.position != INSERTED]
        layout = Layout(plain, 0, False, "selected")
        entries = iter(Plan(self.session, self.history, layout, self.length, policy_by_name("full")).messages())
        found: list[Message] = []
        for piece, _ in self.shown:
            if piece.position == INSERTED:
                found.append({"role": "user", "content": piece.note})
            else:
                message = next(entries)
                found.append(message | {"content": piece.note} if piece.note else message)
        return found


class Frame:
    """What the paper's baselines share (App. A.4): users and assistant text stay, results come in while they fit.

    Where the retained messages alone pass `room` tokens, whole assistant texts go, oldest first, then user messages
    but for the first and the latest, as policy `paper` does; no result is kept then.
    """

    def __init__(self, history: History, room: int) -> None:
        self.history = history
        units = history.units
        self._costs: list[int] = (units.tokens + units.call_tokens).tolist()
        self._frames: list[int] = np.where(units.prose_tokens == 0, units.step, -1).tolist()
        self.room = room - history.prose_tokens - sum(user.tokens for user in history.users)
        self.room += history.current_user.tokens if history.current_user else 0
        last = history.assistants[-1] if history.assistants else None
        self._pending = {last.position: [c.index for c in last.calls if c.result is None]} if last else {}
        self._framed = {entry.position for entry in history.prose}
        if last and self._pending[last.position]:
            self.room -= sum(last.calls[index].tokens for index in self._pending[last.position])
            self.room -= last.tokens if last.position not in self._framed else 0
            self._framed.add(last.position)
        self._gone: set[int] = set()
        self.kept: set[int] = set()
        """Numbers of the results that are in."""
        for entry in (*history.prose, *history.users[1:-1]):
            if self.room >= 0:
                break
            if not (entry is last and self._pending.get(entry.position)):
                self._gone.add(entry.position)
                self.room += entry.tokens
        self._full = bool(self._gone)

    def cost(self, number: int) -> int:
        """Tokens that a result adds: its own, its call's, and its message's frame where that is not in yet."""
        frame = self._frames[number]
        return self._costs[number] + (ITEM_OVERHEAD if frame >= 0 and frame not in self._framed else 0)

    def add(self, number: int, room: int | None = None) -> bool:
        """Take a result in if it fits in `room`, by default in all that is left; says whether it did."""
        cost = self.cost(number)
        if self._full or number in self.kept or cost > (self.room if room is None else min(room, self.room)):
            return False
        self.room -= cost
        self.kept.add(number)
        if (frame := self._frames[number]) >= 0:
            self._framed.add(frame)
        return True

    def pieces(self, without: Collection[int] = ()) -> list[Shown]:
        """The pieces in transcript order, but for the results numbered in `without`."""
        history = self.history
        numbers = self.kept.difference(without)
        calls = calls_of(history, numbers)
        for position, indices in self._pending.items():
            if indices:
                calls[position] = sorted({*calls.get(position, ()), *indices})
        whole = [entry.position for entry in history.retained if entry.position not in self._gone]
        whole += [history.results[number].position for number in numbers]
        prose = {entry.position for entry in history.prose if entry.position not in self._gone}
        return in_order(history, whole, calls, prose)


def insert_after_task(pieces: Iterable[Shown], history: History, note: Shown) -> list[Shown]:
    """The pieces with a note right behind the first user message."""
    first = history.users[0].position if history.users else INSERTED
    found = list(pieces)
    at = next((i + 1 for i, shown in enumerate(found) if shown.key.position == first), 0)
    return [*found[:at], note, *found[at:]]
