"""Large results in a short form: a pointer, a summary or head and tail, where their complete text finds no room.

A result whose short form stands in the input is not shown in full (App. B.4), and its original stays in the graph. A
ref is named only where the host can redeem it.
"""

from collections.abc import Iterable, Sequence

from contextrender.compaction.summarizer import head_and_tail
from contextrender.context.host import Host
from contextrender.context.tail import START_NOTE, Tail
from contextrender.history import Entry, History, Piece, Shown
from contextrender.layout import show
from contextrender.policy import Policy
from contextrender.tokens import ITEM_OVERHEAD, message_tokens

SHORT_TOKENS = 150
"""What a short form may take where the result could also be left out."""
SHORT_SHARE = 0.1
"""The part of the budget that such short forms may take in all."""
LEAST = 24


class Shortener:
    """Short forms of one history's results, by a policy's `large` and what the host allows.

    Where a policy selects results (the paper's) only one that alone exceeds the budget is shortened, and only by a
    summarizer (App. A.4).
    """

    def __init__(self, history: History, policy: Policy, host: Host, budget: int) -> None:
        self.history, self._host = history, host
        by_result = policy.unit == "result"
        self.mode = "summary" if by_result else policy.large
        self.threshold = budget if by_result else policy.large_tokens
        self.share = float(budget) if by_result else SHORT_SHARE * budget
        self.cap = budget // 4 if by_result else SHORT_TOKENS
        self.active = host.summarizer is not None if by_result else self.mode != "omit"
        if self.mode == "pointer" and not host.recall:
            self.active = False
        self.failures: list[str] = []
        """What a summarizer said of its failures; head and tail stand in for it."""

    def is_large(self, entry: Entry) -> bool:
        """Whether a result may be shortened."""
        return self.active and entry.tokens > self.threshold

    def short(self, entry: Entry, cap: int) -> Shown | None:
        """The short form within `cap` tokens, frame included; None where that is too little."""
        host = self._host
        label = f"[{entry.tokens:,} tokens; ref {entry.ref}]" if host.recall else ""
        text = label
        if self.mode != "pointer":
            room = cap - message_tokens(f"{label}\n" if label else "", host.encoding)
            body = self._body(entry, room) if room >= LEAST else ""
            text = "\n".join(filter(None, (body, label)))
        tokens = message_tokens(text, host.encoding)
        return Shown(Piece(entry.position, text=text), tokens) if text and tokens <= cap else None

    def _body(self, entry: Entry, room: int) -> str:
        if self.mode == "summary" and self._host.summarizer is not None:
            call = f"{entry.call.tool} {entry.call.arguments}" if entry.call else ""
            summary = self._host.summarizer.compact(call, entry.text, room)
            if summary.failure:
                self.failures.append(f"{entry.ref}: {summary.failure}")
            return summary.text
        return head_and_tail(entry.text, room, self._host.encoding)

    def pinned(self, must: Iterable[int], over: int) -> dict[int, Shown]:
        """Short forms, by position, of the results numbered `must` that are to give way by `over` tokens in all."""
        found: dict[int, Shown] = {}
        for number in sorted(must, key=lambda number: -self.history.results[number].tokens):
            entry = self.history.results[number]
            if over <= 0 or not self.is_large(entry):
                break
            short = self.short(entry, max(SHORT_TOKENS, entry.tokens - over))
            if short is not None:
                found[entry.position] = short
                over -= entry.tokens - short.tokens
        return found

    def fill(self, shown: Sequence[Shown], first: int, room: float, order: Iterable[int], tail: Tail) -> list[Shown]:
        """`shown` with short forms of large results that it leaves out, in `order`, within `room` tokens.

        Nothing before index `first` changes: a result whose call stands there keeps out.
        """
        if not self.active:
            return list(shown)
        entries = self.history.entries
        room = min(room, self.share)
        body = {piece.position: one for one in shown[first:] if not (piece := one.key).note}
        start = 1 + max((piece.position for piece, _ in shown[:first] if not piece.note), default=-1)
        known = {piece.position for piece, _ in shown if not piece.note}
        for entry in (self.history.results[number] for number in order):
            call = entry.call
            if room < LEAST:
                break
            if not self.is_large(entry) or entry.position in known or call is None or call.position < start:
                continue
            message = body.get(call.position)
            frame = call.tokens + (0 if message else ITEM_OVERHEAD)
            short = self.short(entry, int(min(self.cap, room - frame)))
            if short is None:
                continue
            room -= short.tokens + frame
            calls = (*message.key.calls, call.index) if message else (call.index,)
            prose = message.key.prose if message else not entries[call.position].text
            body[call.position] = show(entries[call.position], sorted(calls), prose)
            body[entry.position] = short
        notes = [one for one in shown[first:] if one.key.note and one.key.note != START_NOTE]
        pieces = tail.with_start([*shown[:first], *(body[position] for position in sorted(body))])
        return tail.at_tail(pieces, notes)
