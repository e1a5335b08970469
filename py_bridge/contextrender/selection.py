"""Selection of whole tool results under a budget: Algorithm 1 of the paper, with App. A.4's accounting.

All user and assistant messages stay; results, each with its call, are added greedily by usefulness less half the
similarity to what is selected already (Eq. 7).
"""

import numpy as np

from contextrender.embeddings import Vector
from contextrender.history import Entry, History
from contextrender.layout import Layout, counted_tokens, show
from contextrender.signals import ROUNDING, Array, View
from contextrender.tokens import ITEM_OVERHEAD

_CHUNK = 64
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
    count = len(history.results)
    units = history.units
    costs = units.tokens + units.call_tokens
    # An assistant message without text comes in with its first kept call: its frame is paid once.
    frames = np.where(units.prose_tokens == 0, units.step, -1)
    if history.assistants and _pending(history.assistants[-1]):
        frames[frames == history.assistants[-1].position] = -1
    costs += ITEM_OVERHEAD * (frames >= 0)
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
        if frames[best] >= 0:
            siblings = frames == frames[best]
            costs[siblings] -= ITEM_OVERHEAD
            frames[siblings] = -1
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
        droppable = [entry for entry in history.prose if not (entry is last and pending)]
        for entry in (*droppable, *history.users[1:-1]):
            if used <= budget:
                break
            gone.add(entry.position)
            used -= entry.tokens
    kept_calls: dict[int, list[int]] = {last.position: pending} if last and pending else {}
    pieces = {entry.position: entry.whole() for entry in history.retained if entry.position not in gone}
    for number in selected:
        entry = history.results[number]
        pieces[entry.position] = entry.whole()
        if entry.call is not None:
            kept_calls.setdefault(entry.call.position, []).append(entry.call.index)
    for entry in (*history.prose, *(history.entries[position] for position in kept_calls)):
        if entry.position not in gone:
            pieces[entry.position] = show(entry, sorted(kept_calls.get(entry.position, ())))
    shown = [pieces[position] for position in sorted(pieces)]
    tokens = counted_tokens(history, shown)
    return Layout(shown, tokens, tokens > budget, "selected" if used <= budget else "smallest")
