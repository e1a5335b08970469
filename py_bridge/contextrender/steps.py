"""Selection of steps under a budget, afresh at each call: policies `default` and `default@every_call` (design §8).

A unit is a result with its call. System messages, users, and the latest assistant message with its calls and results
are pinned; an assistant's prose is kept where it is recent, and where room is left.
"""

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from contextrender.history import Entry, History, Shown
from contextrender.layout import Layout, counted_tokens, show
from contextrender.names import Array
from contextrender.tokens import ITEM_OVERHEAD

NO_FORMS: Mapping[int, Shown] = {}


def latest_step(history: History) -> tuple[Entry | None, list[int]]:
    """The latest assistant message and the numbers of its results that are there: both are pinned."""
    if not history.assistants:
        return None, []
    latest = history.assistants[-1]
    return latest, [history.entries[call.result].number for call in latest.calls if call.result is not None]


def recent_assistants(history: History, recent: int) -> list[Entry]:
    """The assistant messages that count as recent, without the latest, which is pinned."""
    return history.assistants[max(0, history.turn - recent) : max(0, history.turn - 1)]


def outside_positions(history: History) -> list[int]:
    """Where the system and developer messages stand."""
    count = len(history) - len(history.results) - len(history.users) - len(history.assistants)
    found: list[int] = []
    for entry in history.entries:
        if len(found) == count:
            break
        if entry.outside:
            found.append(entry.position)
    return found


def droppable_users(history: History, over: float, start: int = 0) -> list[Entry]:
    """The user messages to drop when the pinned part is `over` tokens too large.

    Oldest first from position `start` on, never the first nor the latest.
    """
    gone: list[Entry] = []
    for user in history.users[1:-1]:
        if over <= 0:
            break
        if user.position >= start:
            gone.append(user)
            over -= user.tokens
    return gone


def calls_of(history: History, numbers: Iterable[int]) -> dict[int, list[int]]:
    """By position of the assistant message, the calls that these results answer, in order."""
    calls: dict[int, list[int]] = {}
    for number in numbers:
        call = history.results[number].call
        if call is not None:
            calls.setdefault(call.position, []).append(call.index)
    return {position: sorted(indices) for position, indices in calls.items()}


def in_order(
    history: History, whole: Iterable[int], calls: Mapping[int, Collection[int]], prose: Collection[int]
) -> list[Shown]:
    """Pieces in transcript order: entries shown whole, and assistant messages with some calls and perhaps prose.

    A message without text counts as shown with its prose, so that equal bytes are equal pieces.
    """
    entries, every = history.entries, history.whole()
    shown = [every[position] for position in whole]
    for position in calls.keys() | set(prose):
        entry = entries[position]
        shown.append(show(entry, tuple(calls.get(position, ())), position in prose or not entry.text))
    return sorted(shown)


def with_forms(shown: Iterable[Shown], forms: Mapping[int, Shown]) -> list[Shown]:
    """Pieces with the short `forms` of results, by position, in their place."""
    return [forms.get(one.key.position, one) for one in shown] if forms else list(shown)


def smallest(history: History, budget: int, forms: Mapping[int, Shown] = NO_FORMS) -> Layout:
    """The smallest legal history: the pinned part, with users between the first and the latest while they fit.

    forms: by position, the short form of a pinned result that is too large.
    """
    latest, numbers = latest_step(history)
    pinned = [*([latest] if latest else []), *(history.results[number] for number in numbers)]
    total = sum(entry.full_tokens for entry in (*pinned, *history.users))
    total -= sum(history.entries[position].tokens - form.tokens for position, form in forms.items())
    total -= history.current_user.tokens if history.current_user else 0
    gone = {user.position for user in droppable_users(history, total - budget)}
    users = [user for user in history.users if user.position not in gone]
    shown = in_order(history, [*outside_positions(history), *(entry.position for entry in (*pinned, *users))], {}, ())
    shown = with_forms(shown, forms)
    tokens = counted_tokens(history, shown)
    return Layout(shown, tokens, tokens > budget, "smallest")


def select_steps(
    history: History,
    budget: int,
    p: Array,
    alpha: float = 0.4,
    recent: int = 2,
    forms: Mapping[int, Shown] = NO_FORMS,
) -> Layout:
    """The history under the budget, by usefulness `p` (results,) per cost to the power `alpha`.

    recent: an assistant message's prose comes in with its calls if it is one of the latest `recent` messages. Calls
    without a result are dropped with their unit, except for the latest message's. forms: as for `smallest`.
    """
    if history.budgeted_tokens() <= budget:
        return Layout(history.whole(), history.budgeted_tokens(), False, "whole")
    pinned = smallest(history, budget, forms)
    if pinned.over_budget:
        return pinned
    latest, numbers = latest_step(history)
    near = {entry.position for entry in recent_assistants(history, recent)}
    units = history.units
    room = budget - pinned.tokens
    costs = units.tokens + units.call_tokens
    value = p / (costs + ITEM_OVERHEAD) ** alpha
    kept = set(numbers)
    steps = {latest.position} if latest else set()
    prices, messages, proses = costs.tolist(), units.step.tolist(), units.prose_tokens.tolist()
    least = min(prices, default=0)
    for number in np.argsort(-value, kind="stable").tolist():
        if room < least:
            break
        step = messages[number]
        cost = prices[number]
        if step >= 0 and step not in steps:
            cost += ITEM_OVERHEAD + (proses[number] if step in near else 0)
        if number not in kept and cost <= room:
            room -= cost
            kept.add(number)
            steps.add(step)
    prose = near & steps
    for entry in reversed(history.assistants[:-1]):
        cost = entry.tokens - (ITEM_OVERHEAD if entry.position in steps else 0)
        if entry.text and entry.position not in prose and cost <= room:
            room -= cost
            prose.add(entry.position)
    fixed = {piece.position for piece, _ in pinned.shown}
    calls = calls_of(history, kept.difference(numbers))
    whole = fixed | {history.results[number].position for number in kept}
    shown = with_forms(in_order(history, whole, calls, prose - fixed), forms)
    tokens = counted_tokens(history, shown)
    return Layout(shown, tokens, tokens > budget, "selected")
