"""The price lists that costs are given in, USD per million tokens: the paper's, and examples of how providers charge.

Prices move: what lasts is their shape (how cheap a cached token is, whether writing the cache costs extra, how short a
prefix may be). Lifetimes of a cache entry are left out: recorded runs have no clock.
"""

from contextrender.evaluation.cost import PAPER, Tariff

TARIFFS: dict[str, Tariff] = {
    "paper": PAPER,
    "openai": Tariff(2.0, 0.5, 8.0, smallest_prefix=1024),  # GPT-4.1
    "anthropic": Tariff(3.0, 0.3, 15.0, written=3.75, smallest_prefix=1024),  # Sonnet, five-minute cache
    "deepseek": Tariff(0.28, 0.028, 0.42, smallest_prefix=64),  # V3.2
}
