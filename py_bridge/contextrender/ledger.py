"""What the calls of a session cost, and what they would have cost with the full history. Pure.

Prices are relative: one uncached input token costs 1. What the full history would have cost is reckoned: its input is
what the provider counted and the history tokens that were not sent; where the provider showed a cache at all, all that
the call before had sent is taken to be in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from contextrender.prices import Prices
from contextrender.transcripts.format import Usage


@dataclass(frozen=True, slots=True)
class Call:
    """One model call: history tokens of the whole conversation, those that were sent, and the provider's count.

    `usage` is None where no answer told it.
    """

    full_tokens: int
    sent_tokens: int
    model: str = ""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Bill:
    """Sums over the calls whose usage is known; `calls` counts them all. Costs in uncached input tokens."""

    calls: int
    counted: int
    usage: Usage
    full_input: int
    cost: float
    full_cost: float

    @property
    def saved(self) -> float:
        """The part of the full cost that was not paid; negative where managing was dearer."""
        return 1 - self.cost / self.full_cost if self.full_cost else 0.0


def bill(calls: Sequence[Call], prices: Prices) -> Bill:
    """The bill of a session's calls, in order."""
    counted = [(call, call.usage) for call in calls if call.usage is not None]
    caches = any(usage.cached or usage.written for _, usage in counted)
    cost = full_cost = 0.0
    full_input = before = 0
    for call, usage in counted:
        full = usage.input + max(0, call.full_tokens - call.sent_tokens)
        cost += usage.uncached + prices.cached * usage.cached + prices.write * usage.written
        full_cost += prices.cost(min(before, full), full) if caches else full
        full_input += full
        before = full
    whole = Usage(*(sum(getattr(usage, name) for _, usage in counted) for name in Usage.__slots__))
    return Bill(len(calls), len(counted), whole, full_input, round(cost, 1), round(full_cost, 1))
