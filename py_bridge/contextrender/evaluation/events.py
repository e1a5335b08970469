"""Lexical reuse events: which later assistant turn repeats a token first seen in which result (paper App. B.4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contextrender.names import find_names
from contextrender.transcripts.chat import parse_messages
from contextrender.values import call_text

AGE_BINS = ("<=3", "4-10", "11-25", ">25")


@dataclass(frozen=True, slots=True)
class ReuseEvent:
    """Assistant turn `turn` (1-based) repeats a token that the result at `position` introduced, `age` turns earlier."""

    turn: int
    position: int
    age: int

    @property
    def age_bin(self) -> str:
        """The bin of Tables 4 and 5."""
        return AGE_BINS[(self.age > 3) + (self.age > 10) + (self.age > 25)]


def reuse_events(messages: Sequence[Mapping[str, Any]]) -> list[ReuseEvent]:
    """Every (turn, result) pair once, in order.

    Tokens are `[A-Za-z0-9_]{6,}` with an upper-case letter or underscore. A token belongs to a result only when its
    first appearance over all messages, system included, is in that result. Age = invocations made before the turn,
    less the number of the invocation whose call produced the result.
    """
    introduced: dict[str, int | None] = {}
    call_turns: dict[str, int] = {}
    produced: dict[int, int] = {}
    events: list[ReuseEvent] = []
    turn = 0
    for position, event in enumerate(parse_messages(messages)):
        texts = [event.text, *(call_text(call.name, call.arguments) for call in event.calls)]
        tokens = find_names("\n".join(texts))
        if event.role == "assistant":
            turn += 1
            sources = {source for token in tokens if (source := introduced.get(token)) is not None}
            events += (ReuseEvent(turn, source, turn - 1 - produced[source]) for source in sorted(sources))
            call_turns.update((call.call_id, turn) for call in event.calls)
        elif event.role == "tool":
            produced[position] = call_turns.pop(event.call_id, turn)
        for token in tokens:
            introduced.setdefault(token, position if event.role == "tool" else None)
    return events
