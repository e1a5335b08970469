"""The conversation in a request, read on from what an earlier request of it held. Pure.

The system prompt in front is no part of it: clients put dates and to-do lists there, and it is sent as it comes.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from contextrender.events import OUTSIDE_ROLES, Event
from contextrender.proxy.body import Body, Elements
from contextrender.transcripts.identity import Begun, next_digest
from contextrender.transcripts.wire import WireFormat

TRANSIENT = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"
"""OpenClaw begins a user message so that is written anew for each request and stands in none that follows."""


@dataclass(slots=True)
class Transcript:
    """`lead`: elements in front that are no conversation. Then by unit: the element behind it, the events up to its
    end, and their fingerprints. `digests`: by number of events. `transient`: elements that are not history.

    `opening`: the number of events up to the first assistant's, 0 where there is none.
    """

    elements: Elements
    lead: int = 0
    ends: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    prints: list[tuple[bytes, ...]] = field(default_factory=list)
    digests: list[str] = field(default_factory=lambda: [""])
    transient: list[int] = field(default_factory=list)
    opening: int = 0

    @property
    def whole(self) -> Begun:
        """All of it."""
        return Begun(len(self.digests) - 1, self.digests[-1])

    @property
    def key(self) -> str:
        """What names the conversation where nothing else does: everything up to its first answer; "" before that."""
        return self.digests[self.opening] if self.opening else ""

    def begins_with(self, known: Begun) -> bool:
        """Whether it begins like this, at the border of two messages."""
        if known.events >= len(self.digests) or self.digests[known.events] != known.digest:
            return False
        at = bisect_left(self.counts, known.events)
        return known.events == 0 or (at < len(self.counts) and self.counts[at] == known.events)

    def start_of(self, unit: int) -> int:
        """The first element of a unit."""
        return self.ends[unit - 1] if unit else self.lead

    def behind(self, count: int) -> list[Any]:
        """The messages behind the first `count` events, which end at a border."""
        start = self.start_of(bisect_left(self.counts, count) + 1) if count else self.lead
        gone = set(self.transient)
        values = self.elements.values
        return [values[index] for index in range(start, len(values)) if index not in gone]

    def add(self, end: int, events: Sequence[Event]) -> None:
        """Add a unit; one that is transient only shifts where the next one begins."""
        if len(events) == 1 and events[0].role == "user" and events[0].text.lstrip().startswith(TRANSIENT):
            self.transient.append(end - 1)
            events = []
        for event in events:
            self.digests.append(next_digest(self.digests[-1], event.fingerprint))
            if event.role == "assistant" and not self.opening:
                self.opening = len(self.digests) - 1
        self.ends.append(end)
        self.counts.append(len(self.digests) - 1)
        self.prints.append(tuple(event.fingerprint for event in events))


def read_transcript(form: WireFormat, body: Body) -> Transcript:
    """The transcript of a request's message list. Raises InputError where a message can't be understood."""
    made = _begun(body)
    values = body.elements.values
    start = made.ends[-1] if made.ends else made.lead
    for unit in form.units(values, start):
        if not made.ends and all(event.role in OUTSIDE_ROLES for event in unit.events):
            made.lead = unit.end
        else:
            made.add(unit.end, unit.events)
    body.elements.read = made
    return made


def _begun(body: Body) -> Transcript:
    """What the transcript of an earlier request says of the elements shared with it, but for the last unit of these."""
    old = body.earlier[0].read if body.earlier else None
    shared = body.earlier[1] if body.earlier else 0
    if not isinstance(old, Transcript) or old.lead >= shared:
        return Transcript(body.elements)
    units = bisect_left(old.ends, shared)  # a unit that ends with the shared part may go on
    count = old.counts[units - 1] if units else 0
    border = old.ends[units - 1] if units else old.lead
    return Transcript(
        body.elements,
        old.lead,
        old.ends[:units],
        old.counts[:units],
        old.prints[:units],
        old.digests[: count + 1],
        [index for index in old.transient if index < border],
        old.opening if old.opening <= count else 0,
    )
