"""What the task context adds to a render: the stable start behind the system prompt, and a delta note at the tail.

Each current fact is shown once: it is missing until its line stands in a note that is kept, and sent bytes are kept
until a checkpoint cuts them off.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from contextrender.context.checkpoint import checkpoint_text
from contextrender.context.contract import start_text
from contextrender.context.facts import DURABLE, Fact, current_facts, in_priority
from contextrender.context.host import Host
from contextrender.history import History, Piece, Shown
from contextrender.tokens import ITEM_OVERHEAD, message_tokens

START_NOTE = "start"
"""A piece with this note is the stable start: a system message of ours."""
DELTA_NOTE = "delta"
CHECKPOINT_NOTE = "checkpoint"
DELTA_HEADING = "[Update on the task]"


class Tail:
    """The notes of one render.

    share: tokens that all current facts may take; what finds no room is counted in `left_out`. note_tokens: room that a
    checkpoint keeps for its note, 0 for none.
    """

    def __init__(
        self, history: History, host: Host, share: float, last: Sequence[Shown] = (), note_tokens: int = 0
    ) -> None:
        self._history, self._host = history, host
        self._note_tokens = note_tokens
        self._notes: dict[tuple[str, ...], Shown | None] = {}
        facts = current_facts(history.facts)
        before = lines_of(last)
        self.fresh = [fact for fact in facts if fact.line not in before]
        """Facts that the render before did not tell."""
        self.start = next((shown for shown in last if shown.key.note == START_NOTE), None)
        if self.start is None and host.contract and not last:
            self.start = self._start([fact for fact in facts if fact.kind in DURABLE])
        latest = history.assistants[-1] if history.assistants else None
        self.open = latest is not None and any(call.result is None for call in latest.calls)
        """A call waits for its result: nothing may stand between."""
        self.allowed = host.tail_notes and not self.open
        self.lines, self.left_out = self._fitted(facts, share) if host.tail_notes else ([], len(facts))

    @property
    def silent(self) -> bool:
        """Nothing is to be added, now or before."""
        return self.start is None and not self.lines

    def _start(self, durable: Sequence[Fact]) -> Shown:
        text = start_text(durable, self._host.recall)
        return Shown(Piece(0, note=START_NOTE, text=text), message_tokens(text, self._host.encoding))

    def _fitted(self, facts: Sequence[Fact], share: float) -> tuple[list[str], int]:
        """Lines of the facts that the start does not hold, in the order told, as many as `share` tokens hold."""
        known = lines_of([self.start]) if self.start else set()
        told = [fact for fact in facts if fact.line not in known]
        kept: set[int] = set()
        for fact in in_priority(told):
            cost = _line_tokens(fact.line, self._host.encoding)
            if cost <= share:
                share -= cost
                kept.add(id(fact))
        return [fact.line for fact in told if id(fact) in kept], len(told) - len(kept)

    def missing(self, shown: Iterable[Shown]) -> list[str]:
        """Lines of current facts that stand in no note of `shown`; [] while no note may be added."""
        if not self.lines or not self.allowed:
            return []
        there = lines_of(shown)
        return [line for line in self.lines if line not in there]

    def delta(self, shown: Iterable[Shown]) -> list[Shown]:
        """The note with what is missing in `shown`, as a list of at most one piece."""
        lines = tuple(self.missing(shown))
        if lines not in self._notes:
            text = "\n".join((DELTA_HEADING, *lines))
            piece = Piece(len(self._history) - 1, note=DELTA_NOTE, text=text)
            self._notes[lines] = Shown(piece, message_tokens(text, self._host.encoding)) if lines else None
        note = self._notes[lines]
        return [note] if note else []

    def placeholder(self, shown: Iterable[Shown]) -> list[Shown]:
        """What a checkpoint that keeps `shown` reckons with at the tail: room for its note, else the delta."""
        if not self._note_tokens or not self.allowed:
            return self.delta(shown)
        lines = self.missing(shown)
        room = self._note_tokens + sum(_line_tokens(line, self._host.encoding) for line in lines)
        return [Shown(Piece(len(self._history) - 1, note=CHECKPOINT_NOTE), room)]

    def noted(self, shown: Sequence[Shown]) -> list[Shown]:
        """`shown` with the checkpoint note written where its placeholder stands."""
        at = next((i for i, (piece, _) in enumerate(shown) if piece.note == CHECKPOINT_NOTE and not piece.text), None)
        if at is None:
            return list(shown)
        others = [*shown[:at], *shown[at + 1 :]]
        host, room = self._host, shown[at].tokens - ITEM_OVERHEAD
        text = checkpoint_text(
            self._history,
            others,
            self.missing(others),
            lines_of(others),
            room,
            host.recall,
            host.summarizer,
            host.encoding,
        )
        if not text:
            return others
        note = Shown(shown[at].key._replace(text=text), message_tokens(text, host.encoding))
        return [*shown[:at], note, *shown[at + 1 :]]

    def with_start(self, shown: Sequence[Shown]) -> list[Shown]:
        """`shown` with the stable start behind its leading system messages, where it has none yet."""
        if self.start is None or any(piece.note == START_NOTE for piece, _ in shown):
            return list(shown)
        entries = self._history.entries
        at = next((i for i, (piece, _) in enumerate(shown) if not entries[piece.position].outside), len(shown))
        return [*shown[:at], self.start, *shown[at:]]

    def at_tail(self, shown: Sequence[Shown], notes: Sequence[Shown]) -> list[Shown]:
        """Notes behind everything but a current user message."""
        current = self._history.current_user
        if notes and shown and current is not None and shown[-1].key == Piece(current.position):
            return [*shown[:-1], *notes, shown[-1]]
        return [*shown, *notes]


@lru_cache(maxsize=4096)
def _line_tokens(line: str, encoding: str) -> int:
    """What a line may cost at most."""
    return message_tokens(line, encoding)


def lines_of(shown: Iterable[Shown]) -> set[str]:
    """The lines of all notes with a text of ours."""
    return {line for piece, _ in shown if piece.note and piece.text for line in piece.text.split("\n")}
