"""Facts about the task that a host tells beside the transcript: their kinds, and which of them are current."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextrender.errors import InputError

HEADINGS = {
    "constraint": "Constraint",
    "permission": "Permission",
    "output_rule": "Output rule",
    "approval_pending": "Waiting for approval",
    "plan_step": "Current step",
    "decision": "Decision",
    "approval_resolved": "Approval resolved",
    "interruption": "Interruption",
    "retry": "Retry",
    "error": "Error",
    "file_changed": "File changed",
    "evidence": "Evidence",
}
"""Kind -> the word before its text. The order is that in which they find room: the last ones give way first."""
DURABLE = ("constraint", "permission", "output_rule")
"""Kinds that hold for the whole task: told before the first render, they stand in the stable start."""
_LATEST_ONLY = ("plan_step", "interruption", "retry")
_LAST_ERRORS = 3
MAX_CHARS = 4000


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that was told. position: how many events there were; fields: what audit needs, never shown, and `key`:
    what the fact is about. A later fact of the same kind and key takes its place."""

    kind: str
    text: str
    position: int
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The fact as the model reads it."""
        return f"- {HEADINGS[self.kind]}: {self.text}"

    @property
    def slot(self) -> tuple[str, str]:
        """Facts of one slot replace each other; one without a key stands for itself."""
        if self.kind in _LATEST_ONLY:
            return self.kind, ""
        key = self.fields.get("key")
        return self.kind, f"text {self.text}" if key is None else f"key {key}"


def checked_fact(kind: str, text: str, fields: Mapping[str, Any], position: int) -> Fact:
    """A fact with its text on one line. Raises InputError naming the kinds, or what is wrong with the rest."""
    if kind not in HEADINGS:
        raise InputError(f"unknown kind {kind!r}", "note.kind", ", ".join(HEADINGS))
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_CHARS:
        raise InputError("the text is empty, too long or no text", "note.text", f"1 to {MAX_CHARS:,} characters")
    try:
        plain = json.loads(json.dumps(dict(fields), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(f"a field is no JSON value: {error}", "note.fields", "JSON values") from error
    clean = " ".join(text.split()).encode("utf-8", "replace").decode("utf-8")
    return Fact(kind, clean, position, plain)


def absorb_note(facts: list[Fact], node: Any) -> None:
    """Add the fact of a Note node; nodes come in the order in which they were told."""
    facts.append(Fact(node.kind, node.text, node.position, json.loads(node.fields)))


def current_facts(facts: Iterable[Fact]) -> list[Fact]:
    """What holds now, in the order told: the latest of each slot, no approval that was resolved, the last errors.

    Facts of several slots that read the same are one line to the model: the first stands for them.
    """
    lines: dict[str, Fact] = {}
    for fact in _holding(facts).values():
        lines.setdefault(fact.line, fact)
    return list(lines.values())


def _holding(facts: Iterable[Fact]) -> dict[tuple[str, str], Fact]:
    found: dict[tuple[str, str], Fact] = {}
    for fact in facts:
        found.pop(fact.slot, None)
        found[fact.slot] = fact
        if fact.kind == "approval_resolved":
            waiting = [slot for slot, other in found.items() if other.kind == "approval_pending"]
            if "key" in fact.fields:
                found.pop(("approval_pending", fact.slot[1]), None)
            elif waiting:
                del found[waiting[-1]]
    errors = [slot for slot in found if slot[0] == "error"]
    for slot in errors[:-_LAST_ERRORS]:
        del found[slot]
    return found


def changes_anything(facts: Sequence[Fact], fact: Fact) -> bool:
    """Whether telling the fact would change what holds."""
    before, after = ({slot: one.text for slot, one in _holding(told).items()} for told in (facts, [*facts, fact]))
    return before != after


def in_priority(facts: Sequence[Fact]) -> list[Fact]:
    """The facts, given oldest first, in the order in which they get room: by kind, the newest first."""
    return [fact for kind in HEADINGS for fact in reversed(facts) if fact.kind == kind]
