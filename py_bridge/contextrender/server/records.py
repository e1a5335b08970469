"""What a stored session keeps beside its events, as JSON: how it was opened, and what a render showed.

A layout is written as runs: `[first, last]` for entries shown complete one behind the other, a list of a piece's fields
and its tokens for anything else. So its size follows what was shown, never the length of the history.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from contextrender.errors import InputError
from contextrender.history import History, Piece, Shown
from contextrender.layout import Layout
from contextrender.policy import Policy, policy_by_name

_APART = ("shown", "terms", "scores")


def layout_record(layout: Layout, history: History) -> dict[str, Any]:
    """A layout on `history` as JSON values, its scores left out."""
    entries, runs = history.entries, []
    for piece, tokens in layout.shown:
        if (piece, tokens) != entries[piece.position].whole():
            runs.append([*piece, tokens])
        elif runs and len(runs[-1]) == 2 and runs[-1][1] == piece.position - 1:
            runs[-1][1] = piece.position
        else:
            runs.append([piece.position, piece.position])
    rest = {item.name: getattr(layout, item.name) for item in fields(layout) if item.name not in _APART}
    return {"runs": runs, **rest}


def read_layout(record: Mapping[str, Any], history: History) -> Layout:
    """The layout that `layout_record` described."""
    shown: list[Shown] = []
    for run in record["runs"]:
        if len(run) == 2:
            shown += [entry.whole() for entry in history.entries[run[0] : run[1] + 1]]
        else:
            position, calls, prose, note, text, tokens = run
            shown.append(Shown(Piece(position, tuple(calls), prose, note, text), tokens))
    return Layout(shown=shown, **{name: value for name, value in record.items() if name != "runs"})


def options_record(
    policy: str | Policy, budget: int | str, embedder: str | None, model: str | None, wire: str, days: int | None
) -> str:
    """How a session was opened, as JSON; a policy by its name keeps following the name."""
    named = policy if isinstance(policy, str) else {**asdict(policy), "weights": dict(policy.weights)}
    return json.dumps(
        {"policy": named, "budget": budget, "embedder": embedder, "model": model, "wire": wire, "days": days}
    )


def policy_of(given: Any) -> Policy:
    """The policy of a name or of a mapping of `Policy`'s fields. Raises InputError."""
    if isinstance(given, str):
        return policy_by_name(given)
    if not isinstance(given, Mapping):
        raise InputError(f"a policy of type {type(given).__name__}", "policy", "a name, or an object")
    known = {item.name for item in fields(Policy)}
    unknown = sorted(set(given) - known)
    if unknown:
        raise InputError(f"unknown field {str(unknown[0])[:64]!r}", "policy", ", ".join(sorted(known)))
    try:
        return Policy(**given)
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(str(error), "policy", "the fields of a policy with their types") from error
