"""The resident index of one branch: what selection needs to know about each message and result, as plain numbers.

The graph is the truth; a History is derived from its nodes and can be rebuilt from them. One entry a message or tool
result, in transcript order. A turn is a model invocation, counted from 1; `turn` is the number of invocations made.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from contextrender.context.facts import Fact
from contextrender.embeddings import RESULT_CHARS, TASK_CHARS, Embeddings, Vector
from contextrender.events import OUTSIDE_ROLES
from contextrender.names import Array, NameUse
from contextrender.reuse import ReuseTracker
from contextrender.tokens import ITEM_OVERHEAD
from contextrender.transcripts.identity import plain_id
from contextrender.values import call_text, extract_values

Ints = npt.NDArray[np.int64]


class Piece(NamedTuple):
    """One rendered message: an entry with the calls that are kept and its prose, or a note.

    `note` is the kind of a note, "" for an entry at its place; `text` is what stands in place of the entry's own.
    Equal pieces of one branch render to equal bytes.
    """

    position: int
    calls: tuple[int, ...] = ()
    prose: bool = True
    note: str = ""
    text: str = ""


class Shown(NamedTuple):
    """A piece and its tokens."""

    key: Piece
    tokens: int


@dataclass(slots=True)
class CallEntry:
    """A tool call: where it stands, its price, and the position of its result (None while pending)."""

    position: int
    index: int
    tokens: int
    tool: str
    arguments: str
    node: Any = None
    result: int | None = None


@dataclass(slots=True)
class Entry:
    """A message or tool result. `tokens` = 4 + tok(text); `number` is the result's number, -1 for a message."""

    position: int
    role: str
    turn: int
    tokens: int
    text: str
    node: Any
    fingerprint: bytes
    ref: str = ""
    number: int = -1
    calls: list[CallEntry] = field(default_factory=list)
    call: CallEntry | None = None

    @property
    def outside(self) -> bool:
        """Always kept, never counted: system and developer messages."""
        return self.role in OUTSIDE_ROLES

    @property
    def full_tokens(self) -> int:
        """Tok of the message with all its calls."""
        return self.tokens + sum(call.tokens for call in self.calls)

    def whole(self) -> Shown:
        """This entry shown complete."""
        return Shown(Piece(self.position, tuple(range(len(self.calls)))), self.full_tokens)


class Units(NamedTuple):
    """By result: its tokens, its call's, the position of the call's message (-1 without one) with the tokens of its
    prose, and its own position."""

    tokens: Ints
    call_tokens: Ints
    step: Ints
    prose_tokens: Ints
    place: Ints


def operations(entry: Entry) -> list[str]:
    """What an entry says, one text an operation: an assistant's text, then each call (App. A.2)."""
    if entry.role != "assistant":
        return []
    return [*filter(None, [entry.text]), *(call_text(call.tool, call.arguments) for call in entry.calls)]


class History:
    """Entries of a branch with everything that is kept up incrementally as they arrive."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.results: list[Entry] = []
        self.users: list[Entry] = []
        self.assistants: list[Entry] = []
        self.prose: list[Entry] = []
        """Assistant messages that have text."""
        self.retained: list[Entry] = []
        """System and user messages."""
        self.result_turns: list[int] = []
        self.turn = 0
        self.tokens = 0
        """Tok of the whole history, system messages left out."""
        self.prose_tokens = 0
        """Tok of the assistant messages that have text, without their calls."""
        self.reuse = ReuseTracker()
        self.names = NameUse()
        self.last_use: list[int] = []
        """By result: the turn of its latest use, else the turn that produced it."""
        self.value_nodes: dict[tuple[str, str], Any] = {}
        """(raw ref of the source result, reused value) -> the value's node; shared by the branches of a session."""
        self.facts: list[Fact] = []
        """What the host told, in order."""
        self.by_ref: dict[str, Entry] = {}
        """Raw ref -> the result."""
        self._units: Ints = np.zeros((len(Units._fields), 0), np.int64)
        self._open: dict[str, CallEntry] = {}
        self._vectors: Vector = np.zeros((0, 0))
        self._embedded = 0
        self._task = ""
        self._like_task: Array = np.zeros(0)
        self._whole: list[Shown] = []

    def __len__(self) -> int:
        return len(self.entries)

    def result_turn(self, call_id: str) -> tuple[CallEntry | None, int]:
        """The call that a result with this id answers (the latest earlier one), and the turn that produced it.

        Where none has the id, an open call of the latest turn does whose id a client may have stripped to this one.
        """
        call = self._open.get(call_id)
        if call is None and self.assistants:
            plain = plain_id(call_id)
            calls = self.assistants[-1].calls
            call = next((call for call in calls if call.result is None and plain_id(call.node.call_id) == plain), None)
        if call is not None and call.result is not None:
            call = None
        return call, self.entries[call.position].turn if call else self.turn

    def append(self, entry: Entry, call_ids: Sequence[str] = (), call: CallEntry | None = None) -> None:
        """Add the next entry; `call_ids` are its calls' ids, `call` is what a result answers."""
        self.entries.append(entry)
        self._whole.append(entry.whole())
        if not entry.outside:
            self.tokens += entry.full_tokens
        match entry.role:
            case "assistant":
                self.turn += 1
                self.assistants.append(entry)
                if entry.text:
                    self.prose.append(entry)
                    self.prose_tokens += entry.tokens
                self._open.update(zip(call_ids, entry.calls, strict=True))
                self.names.add_assistant(self.turn, "\n".join(operations(entry)))
            case "tool":
                entry.call = call
                if call is not None:
                    call.result = entry.position
                self.results.append(entry)
                self.by_ref[entry.ref] = entry
                self.result_turns.append(entry.turn)
                self._add_unit(entry, call)
                self.last_use.append(entry.turn)
                tool, arguments = (call.tool, call.arguments) if call else ("", "")
                self.names.add_result(entry.number, entry.text, entry.turn, tool, arguments)
            case "user":
                self.users.append(entry)
                self.retained.append(entry)
                self.names.add_user(entry.text)
            case _:
                self.retained.append(entry)
                self.names.add_other(entry.text)

    def _add_unit(self, entry: Entry, call: CallEntry | None) -> None:
        number = len(self.results) - 1
        if number == self._units.shape[1]:
            grown = np.zeros((len(Units._fields), max(64, 2 * number)), np.int64)
            grown[:, :number] = self._units
            self._units = grown
        prose = self.entries[call.position].tokens - ITEM_OVERHEAD if call else 0
        step = (call.tokens, call.position) if call else (0, -1)
        self._units[:, number] = (entry.tokens, *step, prose, entry.position)

    @property
    def units(self) -> "Units":
        """What selection weighs, by result."""
        return Units(*self._units[:, : len(self.results)])

    def use(self, values: Iterable[str], turn: int) -> list[tuple[str, Entry]]:
        """Count an operation's distinct values (TFA); returns those that are reuse with their source results."""
        matches = self.reuse.add_operation(values)
        for _, source in matches:
            self.last_use[source] = turn
        return [(value, self.results[source]) for value, source in matches]

    def fork(self, length: int) -> "History":
        """A new branch that shares the first `length` entries' nodes; nothing is tokenised or embedded again."""
        branch = History()
        branch.value_nodes = self.value_nodes
        branch.facts = [fact for fact in self.facts if fact.position <= length]
        for old in self.entries[:length]:
            calls = [replace(call, result=None) for call in old.calls]
            entry = replace(old, calls=calls, call=None)
            answers = branch.entries[old.call.position].calls[old.call.index] if old.call else None
            branch.append(entry, [call.node.call_id for call in old.calls], answers)
            if entry.number >= 0:
                branch.reuse.add_result(extract_values(entry.text))
            for text in operations(entry):
                branch.use(extract_values(text), entry.turn)
        branch._vectors = self._vectors[: len(branch.results)].copy()
        branch._embedded = min(self._embedded, len(branch.results))
        return branch

    def whole(self) -> list[Shown]:
        """Everything, complete, in order."""
        return list(self._whole)

    @property
    def current_user(self) -> Entry | None:
        """The current user message: a user message that is last (outside the budget, App. A.4)."""
        last = self.entries[-1] if self.entries else None
        return last if last is not None and last.role == "user" else None

    def budgeted_tokens(self) -> int:
        """Tok(H) as the budget counts it: without system messages and without the current user message."""
        current = self.current_user
        return self.tokens - (current.tokens if current else 0)

    def vectors(self, embeddings: Embeddings) -> Vector:
        """Unit vectors of all results, shape (results, d); each result is embedded once, at its first need."""
        fresh = [entry.text[:RESULT_CHARS] for entry in self.results[self._embedded :]]
        if fresh:
            added = embeddings(fresh)
            total = self._embedded + len(added)
            if len(self._vectors) < total:
                grown = np.zeros((max(64, 2 * total), added[0].shape[0]), added[0].dtype)
                if self._embedded:
                    grown[: self._embedded] = self._vectors[: self._embedded]
                self._vectors = grown
            self._vectors[self._embedded : total] = added
            self._embedded = total
        return self._vectors[: self._embedded]

    def like_task(self, embeddings: Embeddings) -> Array:
        """By result, max(cos, 0) to the task (Eq. 5); computed once a result, each by itself, so that it is the same
        to the last bit however many came at a time.
        """
        task = self.task_text()
        if task != self._task:
            self._task, self._like_task = task, np.zeros(0)
        fresh = self.vectors(embeddings)[len(self._like_task) :].astype(np.float64)
        if len(fresh):
            products = fresh * embeddings([task])[0].astype(np.float64)
            self._like_task = np.append(self._like_task, np.maximum(products.sum(axis=1), 0))
        return self._like_task

    def task_text(self) -> str:
        """The first user message, clipped as it is embedded (App. A.3)."""
        return self.users[0].text[:TASK_CHARS] if self.users else ""

    def latest_text(self) -> str:
        """f_t: the latest user message and the latest assistant text, joined by a newline (§3.3)."""
        user = self.users[-1].text if self.users else ""
        assistant = next((entry.text for entry in reversed(self.assistants) if entry.text), "")
        return "\n".join(text for text in (user, assistant) if text)
