"""The typed slots of a summary (App. B.2), their text, and the check that nothing to be kept was lost."""

from collections.abc import Mapping, Sequence

from contextrender.tokens import count_tokens

SLOTS = {
    "files_read": "Files read",
    "key_observations": "Key observations",
    "commands_run": "Commands run",
    "decisions": "Decisions",
    "unresolved_questions": "Unresolved questions",
}
"""Slot -> its heading, in the order of the text."""
_DROPPED_FIRST = ("commands_run", "files_read", "key_observations", "decisions", "unresolved_questions")
KEPT_HEADING = "Verbatim: "

Slots = Mapping[str, Sequence[str]]


def slots_text(slots: Slots) -> str:
    """The slots that hold something, one line an item."""
    lines: list[str] = []
    for name, heading in SLOTS.items():
        items = [" ".join(item.split()) for item in slots.get(name, ())]
        if any(items):
            lines += [f"{heading}:", *(f"- {item}" for item in items if item)]
    return "\n".join(lines)


def missing_identifiers(text: str, keep: Sequence[str]) -> list[str]:
    """Which of `keep` do not stand in the text verbatim, in order, each once."""
    return [name for name in dict.fromkeys(keep) if name and name not in text]


def with_identifiers(text: str, keep: Sequence[str], budget: int, encoding: str) -> str:
    """The text with the identifiers that it lost appended verbatim, as many as the budget holds, first ones first."""
    lost = missing_identifiers(text, keep)
    while lost:
        line = KEPT_HEADING + ", ".join(lost)
        added = f"{text}\n{line}" if text else line
        if count_tokens(added, encoding) <= budget:
            return added
        lost = lost[: len(lost) * 3 // 4]
    return text


def fitted(slots: Slots, keep: Sequence[str], budget: int, encoding: str) -> str:
    """The text of the slots within `budget` tokens, what is to be kept included.

    Items go oldest first, out of the slot that gives way first among those that still hold more than their share; room
    for the kept identifiers is taken before any item.
    """
    reserve = min(budget // 2, count_tokens(KEPT_HEADING + ", ".join(dict.fromkeys(keep)), encoding)) if keep else 0
    lists = {name: list(slots.get(name, ())) for name in SLOTS}
    prices = {name: [count_tokens(f"- {' '.join(item.split())}\n", encoding) for item in lists[name]] for name in SLOTS}
    headings = {name: count_tokens(f"{heading}:\n", encoding) for name, heading in SLOTS.items()}
    room = budget - reserve
    total = sum(sum(prices[name]) + headings[name] for name in SLOTS if lists[name])
    while any(lists.values()) and (total > room or count_tokens(slots_text(lists), encoding) > room):
        held = [name for name in _DROPPED_FIRST if lists[name]]
        name = next((name for name in held if sum(prices[name]) * len(held) > room), held[0])
        lists[name].pop(0)
        total -= prices[name].pop(0) + (0 if lists[name] else headings[name])
    return with_identifiers(slots_text(lists), keep, budget, encoding)
