"""When to select: append while that is cheaper, rewrite from a cut on when that pays (design §8).

Providers charge less for a prompt that begins like the previous one. Each render therefore weighs its options in one
currency, the price of tokens: appending what is new to the previous input, perhaps with omitted results shown again at
the tail; or a checkpoint, which keeps the input up to a cut byte for byte and chooses what follows afresh.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from contextrender.context.host import BARE
from contextrender.context.large import Shortener
from contextrender.context.tail import START_NOTE, Tail
from contextrender.history import History, Ints, Piece, Shown
from contextrender.layout import NOTE_TOKENS, Layout, show_restored
from contextrender.names import Array
from contextrender.prices import PRESETS, Prices
from contextrender.steps import (
    NO_FORMS,
    calls_of,
    droppable_users,
    in_order,
    latest_step,
    outside_positions,
    recent_assistants,
    with_forms,
)
from contextrender.tokens import ITEM_OVERHEAD
from contextrender.whole import smallest_with_start, whole

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Constants:
    """The schedule's values, in uncached input tokens, and limits."""

    reuse_value: float = 1800.0
    """What one foreseen use of a result is worth."""
    per_turn: float = 0.7
    """Further calls to expect per call made (as long again as so far, discounted)."""
    calls_min: float = 4
    calls_max: float = 12
    recent: int = 1
    """Assistant messages whose prose stays with a kept call."""
    low_water: float = 0.97
    """A checkpoint fills this part of the limit."""
    rewrite_margin: float = 1000.0
    """What a checkpoint must gain over appending, so that near-ties don't flip; 0 at a lifecycle event."""
    max_cuts: int = 10
    restore_max: float = 0.5
    """A restored result may take this part of the budget."""


BUDGETED = Constants()
"""For a budget that is a wall."""
AUTO = Constants(reuse_value=1000.0, per_turn=0.3, rewrite_margin=500.0)
"""For `auto`, where only the window is a wall: it expects fewer calls, so that what it begins has paid sooner."""
AUTO_FROM = 1.5
"""`auto` passes everything through up to this multiple of the budget: less is never worth a checkpoint."""


class Circumstances(NamedTuple):
    """What a decision depends on besides the history: the provider's prices, whether its cache has run out, and the
    lifecycle events since the last render."""

    prices: Prices = PRESETS["paper"]
    cold: bool = False
    events: tuple[str, ...] = ()


AS_IN_THE_PAPER = Circumstances()


class Option(NamedTuple):
    """One way to render: its value, its pieces, and how many of the previous pieces it begins with."""

    value: float
    shown: list[Shown]
    common: int


class _Choice:
    """One render's decision: what all options share."""

    def __init__(
        self,
        history: History,
        budget: int,
        limit: int,
        p: Array,
        prev: list[Shown],
        seen: int,
        constants: Constants,
        now: Circumstances,
        tail: Tail,
        forms: Mapping[int, Shown],
    ) -> None:
        self.history, self.budget, self.limit, self.prev, self.constants = history, budget, limit, prev, constants
        self.tail = tail
        self.forms = {piece.position: Shown(piece, tokens) for piece, tokens in prev if piece.text and not piece.note}
        self.forms.update(forms)
        """By position, the short form of a result that was sent in it, or must be."""
        entries, c = history.entries, constants
        self.now = now
        self.calls = min(max(c.calls_min, c.per_turn * history.turn), c.calls_max)
        """Further calls to expect."""
        self.keep = now.prices.write + now.prices.cached * self.calls
        """Price of a token that is newly sent, then read from the cache at each expected call."""
        self.margin = 0.0 if now.events else c.rewrite_margin
        self.worth = c.reuse_value * self.calls * p
        self.units = history.units
        self.note_tokens = self.units.tokens + NOTE_TOKENS
        self.restorable: Mask = self.note_tokens <= c.restore_max * budget
        self.origin = np.where(self.units.step >= 0, self.units.step, self.units.place)
        """By result, where its unit begins; a cut before it can show the unit at its place, else only as a note."""
        self.latest, self.pinned = latest_step(history)
        if not tail.allowed:
            self.restorable = np.zeros_like(self.restorable)
        self.recent = recent_assistants(history, c.recent)
        near = np.isin(self.units.step, [entry.position for entry in self.recent])
        self.step_cost = (
            self.units.tokens + self.units.call_tokens + ITEM_OVERHEAD + np.where(near, self.units.prose_tokens, 0)
        )
        cheapest = np.minimum(self.step_cost, self.note_tokens)
        self.worthy = np.flatnonzero(self.worth > self.keep * cheapest)
        """The results that some option may choose to show."""
        current = history.current_user
        self.current = current.position if current else -1
        self.outside = outside_positions(history)
        self.user_places = [user.position for user in history.users]
        self.user_sums = [0, *accumulate(0 if user is current else user.tokens for user in history.users)]
        # What stands in the first q pieces of the previous input.
        self.numbers = [-1 if piece.text else entries[piece.position].number for piece, _ in prev]
        self.totals = [0, *accumulate(tokens for _, tokens in prev)]
        self.uncounted = {*self.outside, self.current}
        self.counted = [0, *accumulate(tokens if self.counts(piece) else 0 for piece, tokens in prev)]
        self.after = [0, *accumulate((0 if piece.note else piece.position + 1 for piece, _ in prev), max)]
        self._match_new(seen)

    def _match_new(self, seen: int) -> None:
        """What is new, and which results must be shown wherever their call is."""
        entries = self.history.entries
        calls = {(piece.position, index): at for at, (piece, _) in enumerate(self.prev) for index in piece.calls}
        self.new: list[Shown] = []
        self.pairs: list[tuple[int, int, int]] = []
        """(index of the call's piece, index of the result's piece, result's number), where a cut can part them."""
        for at, (piece, _) in enumerate(self.prev):
            call = entries[piece.position].call
            start = calls.get((call.position, call.index)) if call and not piece.note else None
            if start is not None and any(self._is_cut(i) for i in range(start + 1, at)):
                self.pairs.append((start, at, entries[piece.position].number))
        for entry in entries[seen:]:
            if entry.call is not None and entry.call.position < seen:
                start = calls.get((entry.call.position, entry.call.index))
                if start is None:
                    continue  # its call was left out: it can only come back as a note
                self.pairs.append((start, len(self.prev), entry.number))
            self.new.append(self.forms.get(entry.position) or entry.whole())

    def _is_cut(self, at: int) -> bool:
        piece = self.prev[at].key
        if piece.note == START_NOTE:
            return False
        return bool(piece.note) or self.history.entries[piece.position].role == "assistant"

    def counts(self, piece: Piece) -> bool:
        """Whether a piece stands under the budget."""
        return bool(piece.note) or piece.position not in self.uncounted

    def count(self, shown: Sequence[Shown]) -> int:
        """Tokens under the budget."""
        return sum(tokens for piece, tokens in shown if self.counts(piece))

    def shown_results(self, numbers: Sequence[int]) -> Mask:
        """Which results are among these numbers (-1: not a result)."""
        mask = np.zeros(len(self.worth), dtype=np.bool_)
        mask[[number for number in numbers if number >= 0]] = True
        return mask

    def value(self, visible: Mask, cached: int, total: int) -> float:
        """What the visible results are worth, less the price of the input now and at the expected calls."""
        prices = self.now.prices
        now = prices.cost(0 if self.now.cold else cached, total)
        return float(self.worth[visible].sum()) - now - self.calls * prices.reread(total)

    def with_notes(self, shown: list[Shown], numbers: Sequence[int], told: list[Shown]) -> list[Shown]:
        """Restored results, then what is told, behind everything but a current user message."""
        return self.tail.at_tail(shown, [*(show_restored(self.history.results[number]) for number in numbers), *told])

    def take(self, numbers: Ints, costs: Ints, used: float, cap: float) -> list[int]:
        """Greedily, the results worth their costs, best gain per token first, that fit between `used` and `cap`."""
        gain = self.worth[numbers] - self.keep * costs
        order = np.argsort(-gain / costs, kind="stable")
        order = order[gain[order] > 0]
        taken: list[int] = []
        for number, cost in zip(numbers[order].tolist(), costs[order].tolist(), strict=True):
            if used + cost <= cap:
                used += cost
                taken.append(number)
        return taken

    def append(self) -> Option | None:
        """The previous input, what is new, and restored results that are worth it; None when it does not fit."""
        told = self.tail.delta(self.prev)
        used = self.counted[-1] + self.count(self.new) + self.count(told)
        if used > self.limit:
            return None
        visible = self.shown_results(
            [*self.numbers, *(-1 if key.text else self.history.entries[key.position].number for key, _ in self.new)]
        )
        numbers = self.worthy[(self.restorable & ~visible)[self.worthy]]
        notes = self.take(numbers, self.note_tokens[numbers], used, self.limit)
        visible[notes] = True
        shown = self.prev + self.with_notes(self.new, notes, told)
        total = self.totals[-1] + sum(tokens for _, tokens in shown[len(self.prev) :])
        return Option(self.value(visible, self.totals[-1], total), shown, len(self.prev))

    def progress(self, append: Option | None, rewrite: Option | None) -> bool:
        """Whether a checkpoint would leave a shorter input than appending."""
        if append is None or rewrite is None:
            return rewrite is not None
        return sum(tokens for _, tokens in rewrite.shown) < sum(tokens for _, tokens in append.shown)

    def why(self, append: Option | None, rewrite: Option | None, due: bool) -> dict[str, Any]:
        """The decision as the trace tells it; values in uncached tokens, the margin taken off a checkpoint's."""
        if append is None:
            decision = "pressure: appending would pass the limit" if rewrite else "not even the pinned part fits"
        elif rewrite is None:
            decision = "no checkpoint fits"
        elif due:
            decision = "the steps since the last checkpoint make one due"
        elif rewrite.value > append.value:
            decision = "a checkpoint pays"
        else:
            decision = "a checkpoint does not pay yet"
        found: dict[str, Any] = {
            "decision": decision,
            "limit": self.limit,
            "expected_calls": round(self.calls, 1),
            "margin": self.margin,
            "prices": self.now.prices.name,
            "cache_cold": self.now.cold,
            "events": list(self.now.events),
        }
        for name, option in (("append", append), ("checkpoint", rewrite)):
            if option is not None:
                found[f"{name}_value"] = round(option.value, 1)
        if rewrite is not None:
            found["checkpoint_keeps"] = self.totals[rewrite.common]
            found["checkpoint_total"] = sum(tokens for _, tokens in rewrite.shown)
        return found

    def cuts(self, at_end: bool) -> list[int]:
        """Where a checkpoint may begin: messages and notes behind the first user, the recent ones more densely."""
        prev, entries = self.prev, self.history.entries
        first = next((i for i, (piece, _) in enumerate(prev) if entries[piece.position].role == "user"), -1)
        found = [at for at in range(first + 1, len(prev)) if self._is_cut(at)]
        if at_end:
            found.append(len(prev))
        most = self.constants.max_cuts
        if len(found) > most:
            late = most // 2
            early = found[:-late]
            found = early[:: max(1, -(-len(early) // (most - late)))] + found[-late:]
        return found

    def starts(self, cut: int) -> bool:
        """Whether the previous input up to `cut` holds the stable start."""
        return any(piece.note == START_NOTE for piece, _ in self.prev[:cut])

    def checkpoint(self, cut: int, may_drop_users: bool) -> Option | None:
        """The previous input up to `cut`, then what is pinned and what is worth its price; None if that is too much."""
        history, c, limit = self.history, self.constants, self.limit
        start = self.after[cut]
        shown = self.shown_results(self.numbers[:cut])
        forced = {number for call, at, number in self.pairs if call < cut <= at}
        latest = self.latest if self.latest and self.latest.position >= start else None
        there = {piece.position for piece, _ in self.prev[:cut] if piece.text and not piece.note}
        pinned = [n for n in self.pinned if not shown[n] and history.results[n].position not in there]
        fixed = sorted(forced.union(pinned))
        forms = {at: self.forms[at] for n in fixed if (at := history.results[n].position) in self.forms}
        first_user = bisect_left(self.user_places, start)
        must = self.counted[cut] + self.user_sums[-1] - self.user_sums[first_user]
        told = self.tail.placeholder(self.prev[:cut])
        must += self.count(told) + (self.tail.start.tokens if self.tail.start and not self.starts(cut) else 0)
        must += (latest.full_tokens if latest else 0) + sum(history.results[number].tokens for number in fixed)
        must -= sum(history.entries[at].tokens - form.tokens for at, form in forms.items())
        gone: set[int] = set()
        if must > limit:
            if not may_drop_users:
                return None
            dropped = droppable_users(history, must - limit, start)
            gone = {user.position for user in dropped}
            must -= sum(user.tokens for user in dropped)
            if must > limit:
                return None
        cap = c.low_water * limit
        talk = [entry for entry in self.recent if entry.position >= start and not entry.calls and entry.text]
        if must + sum(entry.tokens for entry in talk) > cap:
            talk = []
        must += sum(entry.tokens for entry in talk)
        visible = shown
        visible[fixed] = True
        out = visible.copy()  # neither shown nor to be chosen, where a short form stands
        visible[[history.entries[at].number for at in forms]] = False
        numbers = self.worthy[~out[self.worthy]]
        here = self.origin[numbers] >= start
        possible = here | self.restorable[numbers]
        numbers, here = numbers[possible], here[possible]
        costs = np.where(here, self.step_cost[numbers], self.note_tokens[numbers])
        chosen = self.take(numbers, costs, must, limit if must > cap else cap)
        visible[chosen] = True
        kept = [number for number in chosen if self.origin[number] >= start]
        prose = {entry.position for entry in talk}
        calls = calls_of(history, kept)
        prose.update(entry.position for entry in self.recent if entry.position in calls)
        whole = [position for position in self.outside if position >= start]
        whole += [position for position in self.user_places[first_user:] if position not in gone]
        whole += [history.results[number].position for number in (*fixed, *kept)]
        whole += [latest.position] if latest else []
        body = with_forms(in_order(history, whole, calls, prose), forms)
        body = body if self.starts(cut) else self.tail.with_start(body)
        rest = self.with_notes(body, sorted(set(chosen).difference(kept)), told)
        if self.counted[cut] + self.count(rest) > limit:
            return None
        common = cut
        for old, mine in zip(self.prev[cut:], rest, strict=False):
            if old != mine:
                break
            common += 1
        total = self.totals[cut] + sum(tokens for _, tokens in rest)
        value = self.value(visible, self.totals[common], total) - self.margin
        return Option(value, self.prev[:cut] + rest, common)


def append_or_checkpoint(
    history: History,
    budget: int,
    p: Array,
    last: Layout | None,
    seen: int,
    constants: Constants = BUDGETED,
    window: int | None = None,
    now: Circumstances = AS_IN_THE_PAPER,
    tail: Tail | None = None,
    every: int = 0,
    forms: Mapping[int, Shown] = NO_FORMS,
    shortener: Shortener | None = None,
) -> Layout:
    """The cheapest legal input that fits: `last` with what is new, or a checkpoint.

    p: by result, its usefulness; last: the previous layout of this branch, None at the first; seen: how many entries
    it had to choose from; window: the model's window, the only wall where `budget` just says when managing may begin.
    The layout's `why` holds the break-even sum: the value of appending and of the best checkpoint.
    tail: what the task context adds; every: steps after which a checkpoint is due, 0 for never; forms: by position, the
    short form of a pinned result that is too large; shortener: fills the room of a checkpoint with short forms.
    While nothing is new, a previous layout that fits is repeated, so that a retry sends the same bytes.
    """
    limit = budget if window is None else window
    tail = tail or Tail(history, BARE, 0)
    everything = whole(history, budget, tail, last, seen)
    if everything is not None:
        return everything
    unchanged = last is not None and seen == len(history) and not tail.missing(last.shown)
    if unchanged and last is not None and last.reason != "whole" and last.tokens <= limit:
        return Layout(list(last.shown), last.tokens, False, "append", last.epoch, {"decision": "nothing is new"})
    prev = list(last.shown) if last else []
    choice = _Choice(history, budget, limit, p, prev, seen if last else 0, constants, now, tail, forms)
    append = choice.append()
    rewrite: Option | None = None
    for index, cut in enumerate(choice.cuts(at_end=append is None)):
        option = choice.checkpoint(cut, may_drop_users=index == 0)
        if option is not None and (rewrite is None or option.value > rewrite.value):
            rewrite = option
    epoch = last.epoch if last else 0
    due = bool(every) and history.turn - epoch >= every and choice.progress(append, rewrite)
    best = rewrite if due or append is None or (rewrite is not None and rewrite.value > append.value) else append
    why = choice.why(append, rewrite, due)
    if best is None:
        return replace(smallest_with_start(history, limit, tail, forms), why=why)
    appends = best.common == len(prev)
    shown = best.shown
    if shortener is not None and not appends:
        room = constants.low_water * limit - choice.count(shown)
        shown = shortener.fill(shown, best.common, room, np.argsort(-p, kind="stable").tolist(), tail)
    shown = tail.noted(shown)
    epoch = epoch if appends else history.turn
    return Layout(shown, choice.count(shown), False, "append" if appends else "checkpoint", epoch, why)
