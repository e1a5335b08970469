"""A session whose state is the persisted nodes: rebuilt from them, and extended by those that another process added.

`StoredSession.absorb` makes the same state from the nodes as ingesting the messages made; what only the process knows
(the last layout of each branch, from which the next render goes on) is in the Snapshot nodes.
"""

import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from contextrender.context.facts import Fact, absorb_note
from contextrender.embeddings import Vector
from contextrender.errors import DivergedError
from contextrender.events import Event
from contextrender.graph.archetypes import Message as MessageNode
from contextrender.graph.archetypes import Note, Snapshot, ToolCall, ToolResult, Value
from contextrender.graph.archetypes import Session as SessionNode
from contextrender.history import CallEntry, Entry, History, operations
from contextrender.server.records import layout_record, policy_of, read_layout
from contextrender.session import Plan, Session, _Snapshot
from contextrender.trace import Rendered
from contextrender.transcripts.identity import Begun, next_digest
from contextrender.values import extract_values

KEEP = 50
"""Renders that stay explainable, beside the last one of each branch."""
_SWEEP = 16
"""Outdated snapshots are dropped at every so many renders, in every process at the same ones."""

_EVENT_BYTES, _FORK_BYTES, _CHAR_BYTES, _VECTOR_COPIES = 6_000, 1_500, 2, 3
"""What a resident session weighs: an event with its node and index, its share in a fork, a character, a vector."""


class Vectors(dict[bytes, Vector]):
    """A session's embeddings; `fresh` names those that are not stored yet, `size` is the bytes of all."""

    def __init__(self) -> None:
        super().__init__()
        self.fresh: list[bytes] = []
        self.size = 0

    def __setitem__(self, key: bytes, vector: Vector) -> None:
        if key not in self:
            self.fresh.append(key)
        self.load(key, vector)

    def load(self, key: bytes, vector: Vector) -> None:
        """Take a stored vector."""
        super().__setitem__(key, vector)
        self.size += vector.nbytes

    def update(self, *args: Any, **kwargs: Any) -> None:
        """As a dict's, noting what is new."""
        for key, vector in dict(*args, **kwargs).items():
            self[key] = vector


class Synced(NamedTuple):
    """A render; how much of the conversation the server has, as `known` of the next call; the tokens of all of it."""

    rendered: Rendered
    known: Begun
    full_tokens: int


class StoredSession(Session):
    """A session over persisted nodes. `keep` is how many renders stay explainable."""

    def __init__(self, node: SessionNode, keep: int = KEEP) -> None:
        options = json.loads(node.options)
        self.vectors = Vectors()
        super().__init__(
            policy_of(options["policy"]),
            options["budget"],
            options["embedder"],
            options["model"],
            self.vectors,
            options["wire"],
        )
        self.node = node
        self.keep = keep
        self.parents: list[tuple[int, int]] = []
        """(parent branch, length) of branch 1, 2, …"""
        self._digests: list[list[str]] = [[""]]
        """By branch and length: a digest of the messages so far."""
        self._values: set[tuple[str, str]] = set()
        self._nodes: dict[str, Snapshot] = {}
        self._characters = 0

    @property
    def snapshots(self) -> Iterable[str]:
        """The names of the renders that can be explained, the oldest first."""
        return self._snapshots.keys()

    def mark(self) -> tuple[int, ...]:
        """What differs when anything that is stored has changed."""
        facts = sum(len(branch.facts) for branch in self.branches)
        head = self.branches.index(self.history)
        return len(self.branches), sum(map(len, self.branches)), facts, head, len(self._snapshots), self.node.renders

    @property
    def size(self) -> int:
        """About how many bytes of memory this takes."""
        events = len(self.branches[0]) + sum(
            len(branch) - length for branch, (_, length) in zip(self.branches[1:], self.parents, strict=False)
        )
        shared = sum(length for _, length in self.parents)
        text = _CHAR_BYTES * self._characters
        return text + _EVENT_BYTES * events + _FORK_BYTES * shared + _VECTOR_COPIES * self.vectors.size

    # --- state -> nodes ----------------------------------------------------------------------------------------------

    def append(self, events: Sequence[Event]) -> None:
        """Add events behind the head; what a rebuild needs is put on their nodes."""
        self._note_forks()
        branch, start = self.branches.index(self.history), len(self.history)
        super().append(events)
        for entry in self.history.entries[start:]:
            self._characters += len(entry.text)
            entry.node.branch = branch
            entry.node.fingerprint = entry.fingerprint.hex()
            for call in entry.calls:
                call.node.branch = branch
        known = self.history.value_nodes
        for ref, text in itertools.islice(reversed(known), len(known) - len(self._values)):
            self._values.add((ref, text))
            known[ref, text].ref = ref

    def _tell(self, fact: Fact) -> Any:
        self._note_forks()
        note = super()._tell(fact)
        note.branch = self.branches.index(self.history)
        return note

    def render(self, budget: int | None = None) -> Rendered:
        """Render, and hang a snapshot on the last event."""
        rendered = super().render(budget)
        self._note_forks()
        made = self._snapshots[rendered.snapshot_id]
        last = next((name for name, old in reversed(self._snapshots.items()) if made.last is old.plan), "")
        record = {
            "layout": layout_record(made.plan.layout, made.history),
            "budget": made.budget,
            "last": last,
            "policy": self.policy.name,
        }
        self._nodes[rendered.snapshot_id] = Snapshot(
            name=rendered.snapshot_id,
            branch=self.branches.index(made.history),
            length=made.length,
            shown=json.dumps(record, separators=(",", ":")),
            sid=self.node.sid,
            ver=self.node.ver,
        )
        self.node.renders += 1
        return rendered

    def snapshot_node(self, name: str) -> tuple[Any, Snapshot]:
        """The node that a snapshot hangs on, and its own."""
        made = self._snapshots[name]
        return made.history.entries[made.length - 1].node if made.length else self.node, self._nodes[name]

    def outdated(self) -> list[tuple[Any, Snapshot]]:
        """Snapshots beyond `keep` with what they hang on, forgotten here; never the last one of a branch.

        Depends on the number of renders alone, so that every process forgets the same ones.
        """
        before = self.node.renders // _SWEEP * _SWEEP - self.keep
        newest = {id(plan) for plan in self._last.values()}
        gone = []
        for name in list(self._snapshots):
            if int(name[1:]) > before:
                break
            if id(self._snapshots[name].plan) not in newest:
                gone.append(self.snapshot_node(name))
                del self._snapshots[name], self._nodes[name]
        return gone

    def release(self) -> None:
        """Break the circles of references of a session that nobody uses any more: the collector finds them late."""
        nodes = [entry.node for branch in self.branches for entry in branch.entries]
        nodes += [call.node for branch in self.branches for entry in branch.entries for call in entry.calls]
        for node in (self.node, *nodes, *self.history.value_nodes.values(), *self._nodes.values()):
            anchor = node.__dict__.pop("__jac__", None)
            if anchor is not None:
                for edge in anchor.edges:
                    edge.__dict__.clear()
                anchor.__dict__.clear()
        self.__dict__.clear()

    def save(self) -> dict[str, Any]:
        """The fields of the session's node that may have changed, brought up to date."""
        self._note_forks()
        self.node.forks = json.dumps(self.parents)
        self.node.head = self.branches.index(self.history)
        return {name: getattr(self.node, name) for name in ("minted", "forks", "head", "renders")}

    def _note_forks(self) -> None:
        """Give a number to branches that `ingest` has made."""
        while len(self.parents) < len(self.branches) - 1:
            branch = self.branches[len(self.parents) + 1]
            parent = next(
                index
                for index, old in enumerate(self.branches)
                if old is not branch
                and len(old) >= len(branch)
                and (not len(branch) or old.entries[len(branch) - 1].node is branch.entries[-1].node)
            )
            self.parents.append((parent, len(branch)))

    # --- nodes -> state ----------------------------------------------------------------------------------------------

    def absorb(self, nodes: Iterable[Any]) -> None:
        """Add persisted nodes that are not here yet: all of them at first, later what another process has added."""
        events: dict[int, list[Any]] = defaultdict(list)
        calls: dict[tuple[int, int], list[Any]] = defaultdict(list)
        notes: dict[int, list[Any]] = defaultdict(list)
        snapshots: list[Any] = []
        for node in nodes:
            match node:
                case MessageNode() | ToolResult():
                    events[node.branch].append(node)
                    self._characters += len(node.content)
                case ToolCall():
                    calls[node.branch, node.position].append(node)
                case Value():
                    self.history.value_nodes[node.ref, node.text] = node
                    self._values.add((node.ref, node.text))
                case Snapshot():
                    snapshots.append(node)
                case Note():
                    notes[node.branch].append(node)
        self.parents = [(parent, length) for parent, length in json.loads(self.node.forks)]
        for number in range(1 + len(self.parents)):
            if number == len(self.branches):
                parent, length = self.parents[number - 1]
                self.branches.append(self.branches[parent].fork(length))
            branch = self.branches[number]
            for node in sorted(events[number], key=lambda node: int(node.position)):
                _append(branch, node, sorted(calls[number, node.position], key=lambda call: int(call.index)))
            for note in sorted(notes[number], key=lambda note: int(note.number)):
                absorb_note(branch.facts, note)
        self.history = self.branches[self.node.head]
        for node in sorted(snapshots, key=lambda node: int(node.name[1:])):
            self._take_snapshot(node)
        self._ids = itertools.count(self.node.renders + 1)
        self.outdated()

    def _take_snapshot(self, node: Any) -> None:
        record = json.loads(node.shown)
        history = self.branches[node.branch]
        plan = Plan(self, history, read_layout(record["layout"], history), node.length, self.policy)
        last = self._snapshots.get(record["last"])
        before = last.plan if last else None
        self._snapshots[node.name] = _Snapshot(history, node.length, record["budget"], before, plan)
        self._last[id(history)] = plan
        self._nodes[node.name] = node

    # --- what the caller knows ---------------------------------------------------------------------------------------

    def begun(self) -> Begun:
        """All of the head, as a later call may say it."""
        return Begun(len(self.history), self.digest())

    def digest(self, length: int | None = None, branch: History | None = None) -> str:
        """A digest of the first `length` messages of a branch (default: all of the head)."""
        self._note_forks()
        number = self.branches.index(branch or self.history)
        entries = self.branches[number].entries
        while len(self._digests) <= number:
            self._digests.append([""])
        chain = self._digests[number]
        for entry in entries[len(chain) - 1 :]:
            chain.append(next_digest(chain[-1], entry.fingerprint))
        return chain[len(entries) if length is None else length]

    def follow(self, known: Begun, tail: Sequence[Any], ends: bool = True) -> Begun:
        """Have `tail` behind what is `known`; returns all of it, as a later call may say it.

        ends: the head ends there; otherwise a branch that goes on behind is left as it is, and so is the head where
        nothing has to be added. Raises DivergedError, with nothing changed, when no branch begins like that.
        """
        events = self.wire.parse(tail)
        branch, same = self._longest(known, events)
        at, head = known.events + same, self.history
        if at < len(branch) and (ends or same < len(events)):
            branch = branch.fork(at)
            self.branches.append(branch)
        if ends or same < len(events):
            self.history = branch
            if events[same:]:
                self.append(events[same:])
            if not ends:
                self.history = head
        whole = known.events + len(events)
        return Begun(whole, self.digest(whole, branch))

    def _longest(self, known: Begun, events: Sequence[Event]) -> tuple[History, int]:
        """The branch with this beginning that shares most with `events` behind it, and how many it shares."""
        prints = [event.fingerprint for event in events]
        best: tuple[History, int] | None = None
        for branch in (self.history, *(other for other in reversed(self.branches) if other is not self.history)):
            if not 0 <= known.events <= len(branch) or self.digest(known.events, branch) != known.digest:
                continue
            pairs = zip(branch.entries[known.events :], prints, strict=False)
            shared = min(len(branch) - known.events, len(prints))
            same = next((i for i, (entry, mine) in enumerate(pairs) if entry.fingerprint != mine), shared)
            if best is None or same > best[1]:
                best = branch, same
            if same == len(prints):
                break
        if best is None:
            raise DivergedError("no branch of the session begins like that; send the whole conversation")
        return best


def _append(history: History, node: Any, calls: Sequence[Any]) -> None:
    """Put a persisted event behind the last entry, as Ingest and TrackReuse did."""
    entry = Entry(
        position=node.position,
        role="tool" if isinstance(node, ToolResult) else node.role,
        turn=node.turn,
        tokens=node.tokens,
        text=node.content,
        node=node,
        fingerprint=bytes.fromhex(node.fingerprint),
    )
    if isinstance(node, ToolResult):
        call, _ = history.result_turn(node.call_id)
        history.append(replace(entry, ref=node.ref, number=len(history.results)), [], call)
        history.reuse.add_result(extract_values(entry.text))
        return
    entry.calls = [
        CallEntry(call.position, call.index, call.tokens, call.name, call.arguments, call) for call in calls
    ]
    history.append(entry, [call.call_id for call in calls])
    for text in operations(entry):
        history.use(extract_values(text), entry.turn)
