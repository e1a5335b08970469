"""One render's decision: from a history, a policy and a budget to a layout. Pure: it changes nothing."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from contextrender.context.host import BARE, Host
from contextrender.context.large import Shortener
from contextrender.context.observed import lifecycle_events
from contextrender.context.tail import Tail
from contextrender.embeddings import Embeddings
from contextrender.history import History, Shown
from contextrender.layout import Layout, counted_tokens
from contextrender.policy import Policy
from contextrender.prices import DEFAULT_WINDOW
from contextrender.schedule import AS_IN_THE_PAPER, AUTO, AUTO_FROM, BUDGETED, Circumstances, append_or_checkpoint
from contextrender.selection import select_results
from contextrender.signals import Array, View, score
from contextrender.steps import latest_step, outside_positions, select_steps
from contextrender.usefulness import load_weights, signals, usefulness
from contextrender.whole import smallest_with_start, whole

NOTE_SHARE, NOTE_MOST = 0.08, 500
"""Room for a checkpoint note: this part of the budget, and at most so many tokens."""
FACTS_SHARE = 0.25
"""The part of the budget that facts told by the host may take; those that find no room are left out, and counted."""


def scored(
    history: History, embeddings: Embeddings, policy: Policy, given: Mapping[int, float] | None = None
) -> tuple[Array, dict[str, Array]]:
    """Each result's usefulness and its terms, as a render of this history sees them."""
    return _usefulness(View(history, embeddings, policy.decay, policy.saturation, given or {}), policy)


def _usefulness(view: View, policy: Policy) -> tuple[Array, dict[str, Array]]:
    """Scores and terms: the policy's weighted signals, or the default model where it names none."""
    if policy.weights:
        return score(view, policy.weights)
    history = view.history
    task = history.like_task(view.embeddings)
    return usefulness(signals(history.names, history.turn, task), load_weights(), history.names.asked_again())


def _wall(history: History, window: int) -> int:
    """What a window leaves for the history: nine tenths (tool definitions, another tokenizer) less what is outside."""
    outside = history.current_user.tokens if history.current_user else 0
    outside += sum(history.entries[position].tokens for position in outside_positions(history))
    return max(1, int(0.9 * window) - outside)


def plan_render(
    history: History,
    embeddings: Embeddings,
    policy: Policy,
    budget: int,
    last: Layout | None = None,
    seen: int = 0,
    given: Mapping[int, float] | None = None,
    now: Circumstances = AS_IN_THE_PAPER,
    window: int = DEFAULT_WINDOW,
    host: Host = BARE,
) -> Layout:
    """What to show before the next invocation.

    last, seen: the previous layout of this session and how many entries it had to choose from (the cache-aware
    schedule appends to it). given: scores by position for the signal `given`. now: prices and the cache's state.
    window: the model's, the only wall of a policy with `auto`, whose budget says from when on managing may pay.
    host: what the client allows.
    """
    note_tokens = min(NOTE_MOST, int(NOTE_SHARE * budget)) if policy.checkpoint_note else 0
    tail = Tail(history, host, FACTS_SHARE * budget, last.shown if last else (), note_tokens)
    budget = int(AUTO_FROM * budget) if policy.auto else budget
    room = math.inf if policy.everything else budget
    everything = whole(history, room, tail, _unless_reselecting(policy, last), seen)
    if everything is not None:
        return replace(everything, over_budget=everything.tokens > budget)
    view = View(history, embeddings, policy.decay, policy.saturation, given or {})
    scores, terms = _usefulness(view, policy)
    constants, wall = (AUTO, _wall(history, window)) if policy.auto else (BUDGETED, None)
    limit = wall or budget
    shortener = Shortener(history, policy, host, limit)
    if policy.lifecycle and policy.schedule == "cache_aware":
        now = now._replace(events=lifecycle_events(history, seen, tail.fresh))
    if policy.schedule == "cache_aware":
        layout = append_or_checkpoint(
            history,
            budget,
            scores,
            last,
            seen,
            constants,
            wall,
            now,
            tail,
            policy.checkpoint_every,
            _pinned_forms(shortener, limit, tail),
            shortener,
        )
    else:
        layout = _selected(view, policy, budget, scores, tail, shortener)
    why = dict(layout.why)
    if tail.left_out:
        why["facts_left_out"] = tail.left_out
    if shortener.failures:
        why["head_and_tail_instead_of_a_summary"] = shortener.failures
    return replace(layout, scores=scores, terms=terms, why=why)


def _unless_reselecting(policy: Policy, last: Layout | None) -> Layout | None:
    """The layout to go on from: none where each call selects afresh."""
    return last if policy.schedule == "cache_aware" and not policy.everything else None


def _pinned_forms(shortener: Shortener, limit: int, tail: Tail) -> dict[int, Shown]:
    """Short forms of the latest step's results where it alone passes the limit."""
    if not shortener.active:
        return {}
    least = smallest_with_start(shortener.history, limit, tail)
    return shortener.pinned(latest_step(shortener.history)[1], least.tokens - limit) if least.over_budget else {}


def _selected(view: View, policy: Policy, budget: int, scores: Array, tail: Tail, shortener: Shortener) -> Layout:
    """The history selected afresh, with the stable start and what is current at the tail, all under the budget."""
    history = view.history
    notes = tail.delta([tail.start] if tail.start else ())
    room = budget - sum(tokens for _, tokens in (*notes, *([tail.start] if tail.start else [])))

    forms: dict[int, Shown] = {}
    if policy.unit == "result":
        layout = select_results(view, scores, max(0, room), policy.similarity_penalty)
    else:
        forms = _pinned_forms(shortener, budget, tail)
        layout = select_steps(history, max(0, room), scores, policy.cost_exponent, forms=forms)
    if layout.over_budget:
        return layout if tail.silent else smallest_with_start(history, budget, tail, forms)
    if tail.silent and not shortener.active:
        return layout
    order = np.argsort(-scores, kind="stable").tolist()
    shown = shortener.fill(layout.shown, 0, max(0, room) - layout.tokens, order, tail)
    shown = tail.at_tail(tail.with_start(shown), notes)
    return replace(layout, shown=shown, tokens=counted_tokens(history, shown))
