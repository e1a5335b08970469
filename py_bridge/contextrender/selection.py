"""Selection of whole tool results under a budget: Algorithm 1 of the paper, with App. A.4's accounting.

All user and assistant messages stay; results, each with its call, are added greedily by usefulness less half the
similarity to what is selected already (Eq. 7).
"""

import numpy as np

from contextrender.embeddings import Vector
from contextrender.history import Entry, History, Shown
from contextrender.layout import Layout, counted_tokens, show
from contextrender.signals import ROUNDING, Array, View

_CHUNK = 256
"""Candidates whose similarity is brought up to date at once."""


def retained_tokens(history: History) -> int:
    """Tok of the messages that the paper always retains: users (but the current one) and assistant texts."""
    current = history.current_user
    users = sum(user.tokens for user in history.users) - (current.tokens if current else 0)
    return users + history.prose_tokens


def _pending(entry: Entry) -> list[int]:
    return [call.index for call in entry.calls if call.result is None]


def greedy(view: View, scores: Array, room: int, penalty: float) -> list[int]:
    """The numbers of the selected results (Algorithm 1, lines 15–20).

    room: tokens left for results with their calls. The chosen result has the highest R among those that fit; exact
    ties go to the older; what does not fit is skipped. R only falls as the selection grows, so a stale R is an upper
    bound and only the best few are brought up to date: the result is that of the full search.
    """
    history = view.history
    results = history.results
    count = len(results)
    costs = np.array([entry.tokens + (entry.call.tokens if entry.call else 0) for entry in results], dtype=np.int64)
    # An assistant message without text comes in with its first kept call: 4 more tokens, paid once.
    frames: dict[int, list[int]] = {}
    for number, entry in enumerate(results):
        if entry.call is not None:
            message = history.entries[entry.call.position]
            if not message.text and not (message is history.assistants[-1] and _pending(message)):
                frames.setdefault(entry.call.position, []).append(number)
                costs[number] += message.tokens
    bound = np.array(scores, dtype=np.float64)
    similar = np.zeros(count)
    seen = np.zeros(count, dtype=np.int64)
    vectors: Vector = view.vectors if penalty and count else np.zeros((count, 1))
    selected: list[int] = []
    bound[costs > room] = -np.inf
    while count:
        best = int(np.argmax(bound))
        if bound[best] == -np.inf:
            break
        if penalty and seen[best] < len(selected):
            top = np.argpartition(-bound, _CHUNK)[:_CHUNK] if count > _CHUNK else np.arange(count)
            stale = np.append(top[(seen[top] < len(selected)) & (bound[top] > -np.inf) & (top != best)], best)
            fresh = selected[int(seen[stale].min()) :]
            cosines = np.round((vectors[stale] @ vectors[fresh].T).max(axis=1).astype(np.float64), ROUNDING)
            similar[stale] = np.maximum(similar[stale], cosines)
            bound[stale] = scores[stale] - penalty * similar[stale]
            seen[stale] = len(selected)
            continue
        selected.append(best)
        bound[best] = -np.inf
        room -= int(costs[best])
        call = results[best].call
        for sibling in frames.pop(call.position, ()) if call else ():
            costs[sibling] -= history.entries[call.position].tokens if call else 0
        bound[costs > room] = -np.inf
    return selected


def select_results(view: View, scores: Array, budget: int, penalty: float) -> Layout:
    """The history under the budget, all messages retained (App. A.4).

    Where the retained messages alone exceed the budget no result is kept, and whole assistant steps go, oldest first,
    then user messages, oldest first, but for the first and the latest (design §8; the paper is silent).
    """
    history = view.history
    if history.budgeted_tokens() <= budget:
        return Layout(history.whole(), history.budgeted_tokens(), False, "whole")
    last = history.assistants[-1] if history.assistants else None
    pending = _pending(last) if last else []
    pinned = (
        sum(last.calls[i].tokens for i in pending) + (last.tokens if pending and not last.text else 0) if last else 0
    )
    used = retained_tokens(history) + pinned
    gone: set[int] = set()
    selected: list[int] = []
    if used <= budget:
        selected = greedy(view, scores, budget - used, penalty)
    else:
        droppable = [entry for entry in history.assistants if entry.text and not (entry is last and pending)]
        for entry in (*droppable, *history.users[1:-1]):
            if used <= budget:
                break
            gone.add(entry.position)
            used -= entry.tokens
    kept_calls: dict[int, list[int]] = {last.position: pending} if last and pending else {}
    kept_results = {history.results[number].position for number in selected}
    for number in selected:
        call = history.results[number].call
        if call is not None:
            kept_calls.setdefault(call.position, []).append(call.index)
    shown: list[Shown] = []
    for entry in history.entries:
        if entry.role == "tool":
            if entry.position in kept_results:
                shown.append(entry.whole())
        elif entry.role == "assistant":
            calls = sorted(kept_calls.get(entry.position, ()))
            if (entry.text or calls) and entry.position not in gone:
                shown.append(show(entry, calls))
        elif entry.position not in gone:
            shown.append(entry.whole())
    tokens = counted_tokens(history, shown)
    return Layout(shown, tokens, tokens > budget, "selected" if used <= budget else "smallest")
