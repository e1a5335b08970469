"""Inference cost of rendered inputs: Eq. 3 with a fixed cache rate, and with the cache each selector really gets."""

from collections.abc import Sequence
from dataclasses import dataclass

from contextrender.history import Shown

PRICE_INPUT, PRICE_CACHED, PRICE_OUTPUT, PRICE_EMBEDDING = 2.0, 0.5, 8.0, 0.13
"""USD per million tokens (Eq. 3)."""


@dataclass(slots=True)
class Usage:
    """Tokens of a set of model calls. `cached` are input tokens whose message prefix the previous call had, too."""

    prompt: int = 0
    cached: int = 0
    output: int = 0
    embedding: int = 0

    def __iadd__(self, other: "Usage") -> "Usage":
        self.prompt += other.prompt
        self.cached += other.cached
        self.output += other.output
        self.embedding += other.embedding
        return self

    @property
    def cache_rate(self) -> float:
        """ρ, the fraction of input tokens served from cache."""
        return self.cached / self.prompt if self.prompt else 0.0

    def usd_fixed_rate(self, rate: float) -> float:
        """Eq. 3 with ρ = `rate`."""
        per_token = PRICE_INPUT * (1 - rate) + PRICE_CACHED * rate
        return (per_token * self.prompt + PRICE_OUTPUT * self.output + PRICE_EMBEDDING * self.embedding) / 1e6

    def usd_real_cache(self) -> float:
        """Eq. 3 with the tokens that were really cached."""
        uncached = self.prompt - self.cached
        read = PRICE_INPUT * uncached + PRICE_CACHED * self.cached
        return (read + PRICE_OUTPUT * self.output + PRICE_EMBEDDING * self.embedding) / 1e6


def cached_tokens(previous: Sequence[Shown], current: Sequence[Shown]) -> int:
    """Tokens of the longest common prefix of two inputs, in whole messages."""
    total = 0
    for before, now in zip(previous, current, strict=False):
        if before.key != now.key:
            break
        total += now.tokens
    return total
