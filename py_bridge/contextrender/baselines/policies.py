"""Our own policies, and the baselines that are configurations of our renderer, as selectors."""

from collections.abc import Collection, Mapping

from contextrender.embeddings import RESULT_CHARS
from contextrender.evaluation.cost import Usage
from contextrender.history import Entry, History
from contextrender.legality import Liberty
from contextrender.policy import Policy
from contextrender.session import Plan, Session
from contextrender.tokens import ITEM_OVERHEAD, count_tokens


def embedding_tokens(entry: Entry) -> int:
    """Tokens of a result as it is embedded: its first 8,000 characters (App. A.3)."""
    if len(entry.text) <= RESULT_CHARS:
        return entry.tokens - ITEM_OVERHEAD
    return count_tokens(entry.text[:RESULT_CHARS])


class EmbeddingMeter:
    """Counts what a method gives to an embedding model over a run: each distinct text once."""

    def __init__(self) -> None:
        self._results = 0
        self._queries: set[str] = set()

    def results(self, history: History) -> int:
        """Tokens of the results that were not counted before."""
        fresh = history.results[self._results :]
        self._results += len(fresh)
        return sum(map(embedding_tokens, fresh))

    def query(self, text: str) -> int:
        """Tokens of a query, 0 when the same was asked before."""
        if text in self._queries:
            return 0
        self._queries.add(text)
        return count_tokens(text)


class PolicySelector:
    """A policy of the renderer."""

    liberties: Collection[Liberty] = ()

    def __init__(self, policy: Policy, budget: int) -> None:
        self.spent = Usage()
        self._policy, self._budget = policy, budget
        self._last: Plan | None = None
        self._meter = EmbeddingMeter()
        self._asks_task = not policy.weights or "relevance" in policy.weights
        self._asks_latest = "relevance" in policy.weights
        self._embeds = self._asks_task or (policy.unit == "result" and policy.similarity_penalty > 0)

    def decide(self, session: Session, coming: Mapping[int, float]) -> Plan:
        plan = session.plan(self._policy, self._budget, self._last, coming or None)
        self._last = plan
        if plan.layout.reason != "whole" and self._embeds:
            history = session.history
            self.spent.embedding += self._meter.results(history)
            if self._asks_task:
                self.spent.embedding += self._meter.query(history.task_text())
            if self._asks_latest:
                self.spent.embedding += self._meter.query(history.latest_text())
        return plan

    def close(self) -> None:
        self._last = None
