"""Observed reuse, kept incrementally (paper §3.2, Eq. 1, App. A.2).

c(r) = sum over the values v that r introduced of uses(v) / n(v), where n(v) counts the tool results that hold v.
"""

import math
from collections.abc import Iterable


class ReuseTracker:
    """Value index of one branch: which result introduced a value, how many hold it, how often operations used it.

    Results are numbered 0, 1, … in transcript order. Every method costs O(values given), whatever the history's length.
    """

    def __init__(self) -> None:
        self.source: dict[str, int] = {}
        """Value -> first tool result that contains it."""
        self.holders: dict[str, int] = {}
        """Value -> n(v), the number of tool results that contain it."""
        self.uses: dict[str, int] = {}
        """Reused value -> number of operations that used it."""
        self.scores: list[float] = []
        """c(r) by result."""
        self._evidence: list[list[str]] = []

    def add_result(self, values: Iterable[str]) -> int:
        """Register the next result with its distinct values; returns its number."""
        number = len(self.scores)
        self.scores.append(0.0)
        self._evidence.append([])
        stale: set[int] = set()
        for value in values:
            source = self.source.setdefault(value, number)
            self.holders[value] = self.holders.get(value, 0) + 1
            if value in self.uses:
                stale.add(source)
        self._rescore(stale)
        return number

    def add_operation(self, values: Iterable[str]) -> list[tuple[str, int]]:
        """Count one operation's distinct values; returns the (value, source result) pairs that are reuse."""
        matches = [(value, self.source[value]) for value in values if value in self.source]
        for value, source in matches:
            if value not in self.uses:
                self.uses[value] = 0
                self._evidence[source].append(value)
            self.uses[value] += 1
        self._rescore({source for _, source in matches})
        return matches

    def _rescore(self, results: Iterable[int]) -> None:
        # Summed afresh with fsum, so that the score depends on the history alone and not on the order of updates.
        for result in results:
            self.scores[result] = math.fsum(self.uses[v] / self.holders[v] for v in self._evidence[result])
