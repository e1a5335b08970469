"""What every rendered history must satisfy (design §5), as one function over the messages of any wire format.

The rendered list is compared with the complete one: order, pairs of calls and results, the task, the current turn.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from contextrender.events import OUTSIDE_ROLES, Call, Event
from contextrender.transcripts.wire import wire_format

Liberty = Literal["altered results", "users dropped"]
"""What another method's render may do: show a result with another text; drop the first or the latest user message."""


def _pair_violations(events: Sequence[Event], orphans: set[str], pending: set[str]) -> list[str]:
    """A call never without its result (unless it is still pending), a result never without its call."""
    found: list[str] = []
    open_calls: dict[str, int] = {}
    for position, event in enumerate(events):
        if event.role == "tool":
            if event.call_id in open_calls:
                del open_calls[event.call_id]
            elif event.call_id not in orphans:
                found.append(f"rendered[{position}]: a result without its call")
        elif event.role == "assistant" or event.role == "user":
            found.extend(f"rendered[{at}]: a call without its result" for at in open_calls.values())
            open_calls = {call.call_id: position for call in event.calls}
    left = ((call_id, at) for call_id, at in open_calls.items() if call_id not in pending)
    found.extend(f"rendered[{at}]: a call without its result" for _, at in left)
    return found


def _orphans(events: Sequence[Event]) -> tuple[set[str], set[str]]:
    """Ids of results that answer no call in the original, and of calls that are still pending at its end."""
    open_calls: set[str] = set()
    orphans: set[str] = set()
    for event in events:
        if event.role == "tool":
            if event.call_id not in open_calls:
                orphans.add(event.call_id)
            open_calls.discard(event.call_id)
        open_calls.update(call.call_id for call in event.calls)
    return orphans, open_calls


def _same_call(one: Call, other: Call) -> bool:
    """The same call; the id of its wire item may be missing where its reasoning is."""
    return replace(one, payload="") == replace(other, payload="")


def _matches(whole: Event, shown: Event, altered: bool) -> bool:
    """Whether `shown` is `whole`, perhaps with fewer calls, without its prose or, if a result, `altered`."""
    if whole.identity == shown.identity:
        return True
    if altered and whole.role == shown.role == "tool":
        return whole.call_id == shown.call_id
    calls = iter(whole.calls)
    return (
        whole.role == shown.role == "assistant"
        and (shown.text == whole.text or not shown.text)
        and all(any(_same_call(call, mine) for mine in calls) for call in shown.calls)
    )


def _joined_place(whole: Sequence[Event], at: int, shown: Event) -> int | None:
    """The last of the assistant events that `shown` is made of, from `at` on; None where it is not made so.

    The Responses API knows no turns: where what stood between two of them is left out, they read as one.
    """
    text, calls = shown.text, list(shown.calls)
    last = None
    for place in range(at, len(whole)):
        event = whole[place]
        if event.role != "assistant" or not (text or calls):
            continue
        said = bool(event.text) and (text == event.text or text.startswith(event.text + "\n"))
        mine = iter(event.calls)
        kept = 0
        while kept < len(calls) and any(_same_call(calls[kept], call) for call in mine):
            kept += 1
        if said or kept:
            text = text[len(event.text) + 1 :] if said else text
            calls, last = calls[kept:], place
    return None if text.strip() or calls else last


def violations(
    original: Sequence[Mapping[str, Any]],
    rendered: Sequence[Mapping[str, Any]],
    liberties: Collection[Liberty] = (),
    wire: str = "chat",
) -> list[str]:
    """What is illegal in a rendered history; [] when nothing is.

    original: the complete messages that the render chose from; rendered: what is sent. Notes (user messages that are
    not in the original) may stand only behind the last kept message, or before a user message that is last. liberties:
    what is not counted as illegal. wire: the format of both.
    """
    form = wire_format(wire)
    whole, shown = form.parse(original), form.parse(rendered)
    altered = "altered results" in liberties
    orphans, pending = _orphans(whole)
    found = _pair_violations(shown, orphans, pending)
    at = 0
    kept: set[int] = set()
    notes: list[int] = []
    for position, event in enumerate(shown):
        place = next((i for i in range(at, len(whole)) if _matches(whole[i], event, altered)), None)
        if place is None and wire == "responses" and event.role == "assistant":
            place = _joined_place(whole, at, event)
        if place is None:
            if event.role != "user":
                found.append(f"rendered[{position}]: not a message of the history, or out of order")
            notes.append(position)
        else:
            kept.add(place)
            at = place + 1
    found.extend(
        f"original[{i}]: a {event.role} message was dropped"
        for i, event in enumerate(whole)
        if event.role in OUTSIDE_ROLES and i not in kept
    )
    users = [i for i, event in enumerate(whole) if event.role == "user"]
    for i in {users[0], users[-1]} if users else ():
        if i not in kept and "users dropped" not in liberties:
            found.append(f"original[{i}]: the first or the latest user message was dropped")
    if pending and whole:
        last = max((i for i, event in enumerate(whole) if event.role == "assistant"), default=-1)
        held = {call.call_id for event in shown for call in event.calls}
        found.extend(
            f"original[{last}]: a pending call was dropped"
            for call in whole[last].calls
            if call.call_id in pending and call.call_id not in held
        )
    behind = [position for position in range(len(shown)) if position not in notes]
    last_kept = behind[-1] if behind else -1
    if notes and last_kept > notes[0] and shown[last_kept].role != "user":
        between = [p for p in behind if p > notes[0] and shown[p].role in OUTSIDE_ROLES]
        if between:
            found.append(f"rendered[{notes[0]}]: a note stands before a {shown[between[0]].role} message")
    return found
