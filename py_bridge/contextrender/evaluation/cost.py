"""Inference cost of rendered inputs: Eq. 3 with a fixed cache rate, and with the cache each selector really gets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contextrender.history import Shown


@dataclass(frozen=True, slots=True)
class Tariff:
    """USD per million tokens. `written` is the price of input that goes into the cache, None where it is `input`;
    `smallest_prefix` is the shortest prefix that the provider caches."""

    input: float = 2.0
    cached: float = 0.5
    output: float = 8.0
    embedding: float = 0.13
    written: float | None = None
    smallest_prefix: int = 0


PAPER = Tariff()
"""The prices of Eq. 3."""


@dataclass(slots=True)
class Usage:
    """Tokens of a set of model calls. `cached` are input tokens whose message prefix the previous call had, too;
    `written` are input tokens that go into the cache."""

    prompt: int = 0
    cached: int = 0
    output: int = 0
    embedding: int = 0
    written: int = 0

    def __iadd__(self, other: "Usage") -> "Usage":
        self.prompt += other.prompt
        self.cached += other.cached
        self.output += other.output
        self.embedding += other.embedding
        self.written += other.written
        return self

    @property
    def cache_rate(self) -> float:
        """ρ, the fraction of input tokens served from cache."""
        return self.cached / self.prompt if self.prompt else 0.0

    def usd_fixed_rate(self, rate: float, tariff: Tariff = PAPER) -> float:
        """Eq. 3 with ρ = `rate`."""
        per_token = tariff.input * (1 - rate) + tariff.cached * rate
        return (per_token * self.prompt + tariff.output * self.output + tariff.embedding * self.embedding) / 1e6

    def usd_real_cache(self, tariff: Tariff = PAPER) -> float:
        """Eq. 3 with the tokens that were really cached, and written where writing has a price."""
        plain = self.prompt - self.cached
        usd = tariff.cached * self.cached + tariff.output * self.output + tariff.embedding * self.embedding
        if tariff.written is not None:
            plain -= self.written
            usd += tariff.written * self.written
        return (usd + tariff.input * plain) / 1e6


def metered(calls: Iterable[tuple[int, int]], output: int, tariff: Tariff) -> Usage:
    """Usage of model calls, each given as its input's tokens and those of the prefix it shares with the call before.

    A prefix below the provider's smallest is neither read from the cache nor written.
    """
    usage = Usage(output=output)
    for prompt, prefix in calls:
        cached = prefix if prefix >= tariff.smallest_prefix else 0
        written = prompt - cached if prompt >= tariff.smallest_prefix else 0
        usage += Usage(prompt, cached, written=written)
    return usage


def cached_tokens(previous: Sequence[Shown], current: Sequence[Shown]) -> int:
    """Tokens of the longest common prefix of two inputs, in whole messages."""
    total = 0
    for before, now in zip(previous, current, strict=False):
        if before.key != now.key:
            break
        total += now.tokens
    return total
