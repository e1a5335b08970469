"""One render's decision: from a history, a policy and a budget to a layout. Pure: it changes nothing."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from contextrender.embeddings import Embeddings
from contextrender.history import History
from contextrender.layout import Layout
from contextrender.policy import Policy
from contextrender.prices import DEFAULT_WINDOW
from contextrender.schedule import AUTO, Circumstances, append_or_checkpoint
from contextrender.selection import select_results
from contextrender.signals import Array, View, score
from contextrender.steps import outside_positions, select_steps
from contextrender.usefulness import load_weights, signals, usefulness


def _usefulness(view: View, policy: Policy) -> tuple[Array, dict[str, Array]]:
    """Scores and terms: the policy's weighted signals, or the learned model where it names none."""
    if policy.weights:
        return score(view, policy.weights)
    task = view.similarity(view.task) if view.history.results else np.zeros(0)
    return usefulness(signals(view.history.names, view.history.turn, task), load_weights())


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
    now: Circumstances = Circumstances(),
    window: int = DEFAULT_WINDOW,
) -> Layout:
    """What to show before the next invocation.

    last, seen: the previous layout of this session and how many entries it had to choose from (the cache-aware
    schedule appends to it). given: scores by position for the signal `given`. now: prices and the cache's state.
    window: the model's, the only wall of a policy with `auto`, whose budget says from when on managing may pay.
    """
    fits = history.budgeted_tokens() <= budget
    if policy.everything or (fits and (policy.schedule == "every_call" or last is None or last.reason == "whole")):
        tokens = history.budgeted_tokens()
        return Layout(history.whole(), tokens, tokens > budget, "whole")
    view = View(history, embeddings, policy.decay, policy.saturation, given or {})
    scores, terms = _usefulness(view, policy)
    if policy.unit == "result":
        layout = select_results(view, scores, budget, policy.similarity_penalty)
    elif policy.schedule == "every_call":
        layout = select_steps(history, budget, scores, policy.cost_exponent)
    elif policy.auto:
        layout = append_or_checkpoint(history, budget, scores, last, seen, AUTO, _wall(history, window), now)
    else:
        layout = append_or_checkpoint(history, budget, scores, last, seen, now=now)
    return replace(layout, scores=scores.tolist(), terms={name: values.tolist() for name, values in terms.items()})
