"""Puts a rendered history into the client's request. Pure.

What is shown whole goes as the client wrote it in this very request: its bytes, its cache marks where it has them now,
and no field that only a provider's answer had. The rest is written anew, without the marks of an earlier request.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextrender.events import Call, Event
from contextrender.proxy.body import Body
from contextrender.proxy.transcript import Transcript
from contextrender.transcripts.format import Part, Unit, WireFormat, WireMessage
from contextrender.transcripts.identity import plain_arguments, plain_id
from contextrender.transcripts.jsontext import dump
from contextrender.transcripts.messages import place_cache_control


@dataclass(slots=True)
class Spliced:
    """The elements to send: as JSON text, and as values. `original`: nothing is left out, added or altered."""

    sources: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    original: bool = False


def splice(form: WireFormat, transcript: Transcript, rendered: Sequence[WireMessage]) -> Spliced:
    """The rendered messages in the place of the transcript's; what is in front of these, and transient, stays."""
    made = _Splicing(form, transcript)
    start = 0
    for unit in form.units(rendered):
        made.add(unit, rendered[start : unit.end])
        start = unit.end
    return made.finish()


class _Splicing:
    def __init__(self, form: WireFormat, transcript: Transcript) -> None:
        self._form, self._transcript = form, transcript
        self._elements = transcript.elements
        self._out = Spliced()
        self._waiting = list(transcript.transient)
        self._at = 0
        self._same = True
        self._places: dict[tuple[bytes, ...], list[int]] = {}
        for number, prints in enumerate(transcript.prints):
            if prints:
                self._places.setdefault(prints, []).append(number)
        for index in range(transcript.lead):
            self._send(index)

    def _send(self, index: int) -> None:
        """An element of the request as it is."""
        while self._waiting and self._waiting[0] < index:
            self._send(self._waiting.pop(0))
        self._out.sources.append(self._elements.source(index))
        self._out.values.append(self._elements.values[index])

    def add(self, unit: Unit, messages: Sequence[WireMessage]) -> None:
        """What was rendered of one unit, or a note of ours."""
        places = self._places.get(tuple(event.fingerprint for event in unit.events), ())
        at = bisect_left(places, self._at)
        if at < len(places):
            for index in range(self._transcript.start_of(places[at]), self._transcript.ends[places[at]]):
                self._send(index)
            self._at = places[at] + 1
            return
        self._same = False
        if len(unit.events) == 1 and unit.events[0].role == "assistant":
            messages = self._cut(unit.events[0]) or messages
        for message in messages:
            bare = without_marks(message)
            self._out.sources.append(dump(bare))
            self._out.values.append(bare)

    def _cut(self, shown: Event) -> list[WireMessage]:
        """A turn of which a part is shown, made from the turn as the client has it; [] where it is not found."""
        values = self._elements.values
        for number in range(self._at, len(self._transcript.prints)):
            start, end = self._transcript.start_of(number), self._transcript.ends[number]
            if len(self._transcript.prints[number]) != 1 or not self._may_hold(start, end, shown):
                continue
            whole = next(iter(self._form.units(values[:end], start))).events[0]
            kept = _kept_calls(whole, shown)
            if kept is None or shown.text not in ("", whole.text):
                continue
            self._at = number + 1
            prose = bool(shown.text or not whole.text)
            cut = len(kept) < len(whole.calls)
            return self._form.build([Part("assistant", whole.text, whole.payload, calls=kept, cut=cut, prose=prose)])
        return []

    def _may_hold(self, start: int, end: int, shown: Event) -> bool:
        """A quick look whether these elements can be the turn that is shown in part."""
        if self._elements.values[start].get("role", "assistant") != "assistant":
            return False
        first, behind = self._elements.starts[start], self._elements.ends[end - 1]
        return not shown.calls or self._elements.text.find(dump(shown.calls[0].name)[1:-1], first, behind) >= 0

    def finish(self) -> Spliced:
        """All elements."""
        for index in self._waiting:
            self._out.sources.append(self._elements.source(index))
            self._out.values.append(self._elements.values[index])
        self._out.original = self._same and len(self._out.sources) == len(self._elements)
        return self._out


def _kept_calls(whole: Event, shown: Event) -> dict[int, Call] | None:
    """The calls of `whole` that `shown` has, by their index; None where it has another."""
    kept: dict[int, Call] = {}
    at = 0
    for call in shown.calls:
        while at < len(whole.calls) and not _is_same(whole.calls[at], call):
            at += 1
        if at == len(whole.calls):
            return None
        kept[at] = whole.calls[at]
        at += 1
    return kept


def _is_same(one: Call, other: Call) -> bool:
    return (one.name, plain_id(one.call_id), plain_arguments(one.arguments)) == (
        other.name,
        plain_id(other.call_id),
        plain_arguments(other.arguments),
    )


def without_marks(value: Any) -> Any:
    """A message without cache marks, in its content as well."""
    if isinstance(value, list):
        return [without_marks(item) for item in value]
    if isinstance(value, Mapping):
        return {
            key: without_marks(item) if key == "content" else item
            for key, item in value.items()
            if key != "cache_control"
        }
    return value


def spliced_body(form: WireFormat, body: Body, spliced: Spliced, transient: int = 0) -> bytes:
    """The request to send. Anthropic's gets a cache breakpoint at its last message that stays for the next request.

    transient: how many elements at the end do not.
    """
    sources = list(spliced.sources)
    if form.name == "messages":
        whole = {**body.fields, "messages": spliced.values}
        marked = place_cache_control(whole, len(spliced.values) - 1 - transient)["messages"]
        for index, (before, after) in enumerate(zip(spliced.values, marked, strict=True)):
            if before is not after:
                sources[index] = dump(after)
    return body.with_list(sources)
