"""Renders that choose nothing: everything, and the smallest legal history; with what the task context adds."""

from collections.abc import Mapping
from dataclasses import replace

from contextrender.context.tail import Tail
from contextrender.history import History, Shown
from contextrender.layout import Layout, counted_tokens
from contextrender.steps import NO_FORMS, smallest


def whole(history: History, budget: float, tail: Tail, last: Layout | None, seen: int) -> Layout | None:
    """The complete history with the notes that stand in it, if that fits and nothing was left out before."""
    if last is not None and last.reason != "whole":
        return None
    if tail.silent and (last is None or len(last.shown) == seen):
        tokens = history.budgeted_tokens()
        return Layout(history.whole(), tokens, False, "whole") if tokens <= budget else None
    before = list(last.shown) if last else []
    fresh = [entry.whole() for entry in history.entries[seen if last else 0 :]]
    body = [*before, *fresh] if last else tail.with_start(fresh)
    shown = tail.at_tail(body, tail.delta(body))
    tokens = counted_tokens(history, shown)
    return Layout(shown, tokens, False, "whole") if tokens <= budget else None


def smallest_with_start(
    history: History, budget: int, tail: Tail, forms: Mapping[int, Shown] = NO_FORMS
) -> Layout:
    """The smallest legal history behind the stable start; facts that are told are left out."""
    layout = smallest(history, budget - (tail.start.tokens if tail.start else 0), forms)
    shown = tail.with_start(layout.shown)
    tokens = counted_tokens(history, shown)
    return replace(layout, shown=shown, tokens=tokens, over_budget=tokens > budget)
