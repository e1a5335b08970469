"""Prices of input tokens relative to each other, and what a provider's prompt cache needs (design §8).

Only ratios matter: an uncached input token costs 1.
"""

import json
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from contextrender.errors import InputError

DEFAULT_WINDOW = 128_000
"""Tokens of a model's window where nothing says more."""


@dataclass(frozen=True, slots=True)
class Prices:
    """One provider's prompt cache.

    cached: price of an input token read from the cache; write: price of one that is newly written to it; minimum:
    tokens from which on a prefix can be cached; ttl: seconds that an unused prefix stays cached. All above 0 but
    `minimum`, and cached <= write. Raises InputError otherwise.
    """

    name: str = "custom"
    cached: float = 0.25
    write: float = 1.0
    minimum: int = 0
    ttl: float = 300.0

    def __post_init__(self) -> None:
        if not 0 < self.cached <= self.write:
            raise InputError(f"cached is {self.cached}, write is {self.write}", "prices", "0 < cached <= write")
        if self.minimum < 0 or not self.ttl > 0:
            raise InputError(f"minimum is {self.minimum}, ttl is {self.ttl}", "prices", "minimum >= 0 and ttl > 0")

    def cost(self, cached: float, total: float) -> float:
        """Price of an input of `total` tokens of which the first `cached` are in the cache, in uncached tokens."""
        if cached < self.minimum:
            cached = 0
        return self.cached * cached + (self.write if total >= self.minimum else 1.0) * (total - cached)

    def reread(self, total: float) -> float:
        """Price of sending the same `total` tokens again."""
        return (self.cached if total >= self.minimum else 1.0) * total


PRESETS: dict[str, Prices] = {
    prices.name: prices
    for prices in (
        Prices("paper", 0.25, 1.0, 0),
        Prices("openai", 0.1, 1.0, 1024),
        Prices("anthropic", 0.1, 1.25, 1024),
        Prices("gemini", 0.1, 1.0, 2048),
        Prices("deepseek", 0.1, 1.0, 64, 3600.0),
    )
}
"""By name. `paper` is its Eq. 3: 2 and 0.5 $ per million, nothing said of minimum or time.

openai: cached input of the GPT-5 family costs a tenth (GPT-4.1 a quarter, GPT-4o half: `prices_of_model` knows), from
1,024 tokens on in steps of 128, cleared after 5–10 minutes of inactivity (openai.com/index/api-prompt-caching,
developers.openai.com/api/docs/guides/prompt-caching). anthropic: writes 1.25, reads 0.1, five minutes, renewed by each
use, at least 1,024 tokens for most models (docs.anthropic.com/en/docs/build-with-claude/prompt-caching). gemini:
implicit caching from 1,024 (Flash) or 2,048 (Pro) tokens, once a 75 % and since Gemini 2.5 a 90 % discount, no stated
time (ai.google.dev/gemini-api/docs/caching). deepseek: a cache on disk in units of 64 tokens, a tenth, kept for hours
to days (api-docs.deepseek.com/guides/kv_cache).
"""


def prices_by_name(given: "str | Prices") -> Prices:
    """Prices as they are, a preset, or those of a model. Raises InputError listing the presets."""
    if isinstance(given, Prices):
        return given
    found = PRESETS.get(given) or prices_of_model(given)
    if found is None:
        raise InputError(f"unknown prices {given!r}", "prices", f"{', '.join(PRESETS)}, a known model, or Prices(...)")
    return found


@cache
def _models() -> dict[str, dict[str, Any]]:
    """litellm's table of models, read from its wheel without importing it; {} where it is not installed."""
    spec = find_spec("litellm")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "model_prices_and_context_window_backup.json"
        if path.is_file():
            table: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8"))
            return table
    return {}


def _model(name: str) -> dict[str, Any]:
    models = _models()
    return models.get(name) or models.get(name.rsplit("/", 1)[-1]) or {}


def prices_of_model(name: str) -> Prices | None:
    """What litellm's table says of a model's cache, with its provider's minimum and time; None if it says nothing."""
    row = _model(name)
    try:
        full = float(row["input_cost_per_token"])
        cached = float(row["cache_read_input_token_cost"])
    except (KeyError, TypeError, ValueError):
        return None
    if not 0 < cached <= full:
        return None
    provider = str(row.get("litellm_provider", ""))
    base = next((preset for key, preset in PRESETS.items() if key in provider), PRESETS["openai"])
    if "vertex" in provider:
        base = PRESETS["gemini"]
    write = float(row.get("cache_creation_input_token_cost") or 0) / full
    return replace(base, name=name, cached=cached / full, write=max(1.0, write))


def window_of_model(name: str | None) -> int:
    """Input tokens that a model takes, by litellm's table; DEFAULT_WINDOW for one it does not know."""
    size = _model(name).get("max_input_tokens") if name else None
    return int(size) if isinstance(size, int) and size > 0 else DEFAULT_WINDOW
