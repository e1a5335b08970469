"""What a selector decides: the pieces to show, in order, and what they cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextrender.history import Entry, History, Piece, Shown
from contextrender.names import Array

RESTORED_NOTE = "restored"
"""A piece with this note is a complete earlier result, shown again at the tail as a user message."""
NOTE_TOKENS = 18
"""Tokens charged for the heading of a restored result."""


def restored_text(tool: str, content: str) -> str:
    """A restored result as the model reads it."""
    return f"[An earlier result of {tool[:64] or 'a tool'}, shown again complete]\n{content}"


@dataclass(frozen=True, slots=True)
class Layout:
    """A rendered input: system messages, history, notes and the current user message, in order.

    `tokens` counts what the budget counts; `over_budget` says that even the smallest legal history passed it;
    `reason` is one of `whole`, `selected`, `append`, `checkpoint`, `smallest`.
    """

    shown: list[Shown]
    tokens: int
    over_budget: bool
    reason: str
    epoch: int = 0
    """The turn of the latest checkpoint."""
    why: dict[str, Any] = field(default_factory=dict)
    """Trace: what the schedule weighed, as JSON values."""
    terms: Mapping[str, Array] = field(default_factory=dict, compare=False)
    """Trace: by signal, its weighted contribution to each result's score, in result order."""
    scores: Array | None = field(default=None, compare=False)
    """None where nothing was scored."""


def show(entry: Entry, calls: Sequence[int], prose: bool = True) -> Shown:
    """An assistant entry with only some calls, and with its text or not."""
    tokens = 4 + (entry.tokens - 4 if prose else 0) + sum(entry.calls[index].tokens for index in calls)
    return Shown(Piece(entry.position, tuple(calls), prose), tokens)


def show_restored(entry: Entry) -> Shown:
    """A result's complete text as a note at the tail."""
    return Shown(Piece(entry.position, note=RESTORED_NOTE), entry.tokens + NOTE_TOKENS)


def counted_tokens(history: History, shown: Sequence[Shown]) -> int:
    """Tokens of the pieces that stand under the budget: all but system messages and the current user message."""
    current = history.current_user
    return sum(
        tokens
        for piece, tokens in shown
        if piece.note
        or (not history.entries[piece.position].outside and (current is None or piece.position != current.position))
    )
