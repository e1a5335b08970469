"""The paper's baselines that are more than a configuration of our renderer (App. B.2)."""

from collections.abc import Collection, Mapping

import numpy as np

from contextrender.baselines.composed import Composed, Frame, insert_after_task, inserted
from contextrender.baselines.policies import EmbeddingMeter
from contextrender.compaction.summarizer import Summarizer, Summary, excerpts_of
from contextrender.evaluation.cost import Usage
from contextrender.history import History, Shown
from contextrender.legality import Liberty
from contextrender.session import Session
from contextrender.tokens import message_tokens

HEADING = "[Summary of the earlier part of this conversation]\n"
RECENT_TURNS, RECENT_SHARE = 3, 0.6
"""Semantic Retrieval considers the results of the three latest turns first, up to 60 % of B."""


class Baseline:
    """What they share: nothing is done while the history fits in B."""

    liberties: Collection[Liberty] = ()

    def __init__(self, budget: int) -> None:
        self.spent = Usage()
        self.budget = budget

    def decide(self, session: Session, coming: Mapping[int, float]) -> Composed:
        history = session.history
        shown = self._select(session) if history.budgeted_tokens() > self.budget else history.whole()
        return Composed(session, history, len(history), shown, self.budget)

    def _select(self, session: Session) -> list[Shown]:
        raise NotImplementedError

    def close(self) -> None:
        pass


class SemanticRetrieval(Baseline):
    """Results by embedding similarity to the latest user and assistant messages, the latest turns' first."""

    def __init__(self, budget: int) -> None:
        super().__init__(budget)
        self._meter = EmbeddingMeter()

    def _select(self, session: Session) -> list[Shown]:
        history = session.history
        query = history.latest_text()
        self.spent.embedding += self._meter.results(history) + self._meter.query(query)
        frame = Frame(history, self.budget)
        share = int(RECENT_SHARE * self.budget)
        recent = [n for n, turn in enumerate(history.result_turns) if turn > history.turn - RECENT_TURNS]
        for number in reversed(recent):
            cost = frame.cost(number)
            if frame.add(number, share):
                share -= cost
        if history.results:
            similarity = np.round(history.vectors(session.embeddings) @ session.embeddings([query])[0], 12)
            for number in np.argsort(-similarity, kind="stable").tolist():
                frame.add(number)
        return frame.pieces()


class RecencySummary(Baseline):
    """The newest results that fit, and a summary of the older ones within a quarter of B.

    A result that was summarized stays so; results that fall out later are merged into the earlier summary.
    """

    SUMMARY_SHARE = 0.25

    def __init__(self, budget: int, summarizer: Summarizer) -> None:
        super().__init__(budget)
        self._summarizer = summarizer
        self._summary = Summary("", 0, summarizer.name)
        self._older = 0

    def _select(self, session: Session) -> list[Shown]:
        history = session.history
        share = int(self.SUMMARY_SHARE * self.budget)
        frame = Frame(history, self.budget - share)
        first = len(history.results)
        while first > self._older and frame.add(first - 1):
            first -= 1
        if first > self._older:
            fresh = excerpts_of(entry for entry in history.results[self._older : first])
            room = share - message_tokens(HEADING, session.encoding) - 1
            summary = self._summarizer.summarize(fresh, max(1, room), self._summary.text)
            self.spent += Usage(summary.prompt_tokens, 0, summary.output_tokens)
            self._summary, self._older = summary, first
        if not self._summary.text:
            return frame.pieces()
        return insert_after_task(frame.pieces(), history, inserted(HEADING + self._summary.text, session.encoding))


class Compact(Baseline):
    """The whole history gives way to a summary whenever it, with what came since, exceeds B.

    share: the part of B that a summary may take; the rest is room for the steps that follow. keep_last: whether the
    latest step stays as it is. The task and the latest user message always stay.
    """

    share = 0.5
    keep_last = False

    def __init__(self, budget: int, summarizer: Summarizer, guideline: str = "") -> None:
        super().__init__(budget)
        self._summarizer, self._guideline = summarizer, guideline
        self._summary = Summary("", 0, summarizer.name)
        self._from = 0
        """Entries before this position are in the summary."""

    def _select(self, session: Session) -> list[Shown]:
        history = session.history
        shown = self._assembled(session)
        if Composed(session, history, len(history), shown, self.budget).tokens <= self.budget:
            return shown
        end = self._end(history)
        fresh = [entry for entry in history.entries[self._from : end] if not entry.outside]
        kept = {user.position for user in (*history.users[:1], *history.users[-1:])}
        fresh = [entry for entry in fresh if entry.position not in kept]
        if fresh:
            tail = Composed(session, history, len(history), self._tail(history, end), self.budget).tokens
            heading = message_tokens(HEADING, session.encoding) + 1
            room = min(int(self.share * self.budget), self.budget - tail - heading)
            summary = self._summarizer.summarize(
                excerpts_of(fresh), max(1, room), self._summary.text, guideline=self._guideline
            )
            self.spent += Usage(summary.prompt_tokens, 0, summary.output_tokens)
            self._summary, self._from = summary, end
        return self._assembled(session)

    def _end(self, history: History) -> int:
        """Where the part to be summarized ends: before a call that is still open, or before the latest step."""
        last = history.assistants[-1] if history.assistants else None
        if last and (self.keep_last or any(call.result is None for call in last.calls)):
            return max(self._from, last.position)
        return len(history)

    def _tail(self, history: History, end: int) -> list[Shown]:
        """What stays beside the summary: system messages, the task, the latest user message, entries from `end` on."""
        pinned = {user.position for user in (*history.users[:1], *history.users[-1:])}
        return [
            shown
            for shown in history.whole()
            if shown.key.position >= end
            or shown.key.position in pinned
            or history.entries[shown.key.position].outside
        ]

    def _assembled(self, session: Session) -> list[Shown]:
        pieces = self._tail(session.history, self._from)
        if not self._summary.text:
            return pieces
        return insert_after_task(pieces, session.history, inserted(HEADING + self._summary.text, session.encoding))


class Acon(Compact):
    """ACON's history compression: driven by a guideline, the latest step kept as it is."""

    keep_last = True
