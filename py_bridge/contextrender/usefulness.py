"""The default policy's model: from signals of a result to the chance that the coming turn uses it (design §8).

Signals are arrays over the results of a branch; weights come from a logistic regression on public traces.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from contextrender.errors import InputError
from contextrender.names import FRESH_DECAY, HEAT_DECAY, Array, NameUse

_LOGIT_MOST = 30.0
_TINY = 1e-12


class Facts(NamedTuple):
    """What signals are made of: the names of a branch, the invocations made, and each result's likeness to the task."""

    names: NameUse
    turn: int
    task: Array

    def column(self, name: str) -> Array:
        """A per-result count as floats."""
        return self.names.column(name).astype(np.float64)

    def since(self, name: str) -> Array:
        """Invocations since the turn in a column."""
        return self.turn - self.column(name)

    def unused(self) -> Array:
        """ln(1 + names it owns that nothing has used)."""
        return np.log1p(self.column("new") - self.column("named"))

    def flags(self, numbers: Mapping[int, float]) -> Array:
        """An array that is 0 but for the given results."""
        values = np.zeros(self.names.count)
        values[list(numbers)] = list(numbers.values())
        return values


def recency(facts: Facts) -> Array:
    """Was just produced."""
    return np.exp(-0.3 * facts.since("turn"))


def idle(facts: Facts) -> Array:
    """Was just produced or used."""
    return np.exp(-0.3 * facts.since("last"))


def idle_slow(facts: Facts) -> Array:
    """Was produced or used not long ago."""
    return np.exp(-0.05 * facts.since("last"))


def used(facts: Facts) -> Array:
    """Was ever used."""
    return (facts.column("uses") > 0).astype(np.float64)


def log_uses(facts: Facts) -> Array:
    """How many invocations used it."""
    return np.log1p(facts.column("uses"))


def heat(facts: Facts) -> Array:
    """Is being used right now: each use counts half as much one invocation later."""
    return facts.names.warmth("heat", HEAT_DECAY)


def use_prev(facts: Facts) -> Array:
    """The last but one invocation used it."""
    return facts.flags(dict.fromkeys(facts.names.used_before, 1.0))


def has_new(facts: Facts) -> Array:
    """Holds names that exist nowhere earlier; what has none cannot be needed."""
    return (facts.column("new") > 0).astype(np.float64)


def log_new(facts: Facts) -> Array:
    """How many names exist nowhere earlier."""
    return np.log1p(facts.column("new"))


def frac_used(facts: Facts) -> Array:
    """How much of it is exhausted: the part of its names that was used."""
    return facts.column("named") / np.maximum(facts.column("new"), 1)


def pending(facts: Facts) -> Array:
    """Holds siblings of used names that were not used yet."""
    return used(facts) * facts.unused()


def fresh_pending(facts: Facts) -> Array:
    """Its names are being used one by one just now."""
    return np.log1p(facts.names.warmth("fresh", FRESH_DECAY)) * facts.unused() / 3


def mentioned(facts: Facts) -> Array:
    """The latest results hold a name of it."""
    return facts.flags(dict.fromkeys(facts.names.mentioned, 1.0))


def mentioned_user(facts: Facts) -> Array:
    """How many of its names the latest user message holds."""
    return np.log1p(facts.flags(facts.names.mentioned_by_user))


def task(facts: Facts) -> Array:
    """Its text is like the task's (cosine, never below 0)."""
    return np.maximum(facts.task.astype(np.float64), 0)


def tool_rate(facts: Facts) -> Array:
    """How often results of its tool are used in this session."""
    return facts.names.tool_rate()


def error(facts: Facts) -> Array:
    """Tells of a failure."""
    return facts.column("error")


def same_call_later(facts: Facts) -> Array:
    """The same call was made again later."""
    return facts.column("repeated")


def reshown(facts: Facts) -> Array:
    """Its names are shown again by later results."""
    return np.minimum(1, facts.column("reshown") / np.maximum(facts.column("new"), 1))


SIGNALS: dict[str, Callable[[Facts], Array]] = {
    signal.__name__: signal
    for signal in (
        recency, idle, idle_slow, used, log_uses, heat, use_prev, has_new, log_new, frac_used, pending, fresh_pending,
        mentioned, mentioned_user, task, tool_rate, error, same_call_later, reshown,
    )
}  # fmt: skip
"""By name, what a result's signal is; the meaning is its docstring."""


class SignalWeight(NamedTuple):
    """A signal's part of the logit is weight · (signal − mean) / scale."""

    weight: float
    mean: float
    scale: float


@dataclass(frozen=True, slots=True)
class Weights:
    """The model: logit = bias + the parts of the signals."""

    bias: float
    signals: Mapping[str, SignalWeight]


def read_weights(text: str) -> Weights:
    """Weights from the JSON that bench/fit_default.py writes. Raises InputError for what is not such a JSON."""
    try:
        data = json.loads(text)
        parts = {
            name: SignalWeight(float(part["weight"]), float(part["mean"]), float(part["scale"]))
            for name, part in data["signals"].items()
        }
        bias = float(data["bias"])
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise InputError(f"weights cannot be read: {problem}", "weights", "bias and signals as JSON") from problem
    for name, part in parts.items():
        if name not in SIGNALS:
            raise InputError(f"unknown signal {name!r}", f"weights.signals.{name}", ", ".join(SIGNALS))
        if not part.scale > 0:
            raise InputError(f"scale is {part.scale}", f"weights.signals.{name}", "a scale above 0")
    return Weights(bias, parts)


@cache
def load_weights() -> Weights:
    """The weights that ship with the package, read once a process."""
    return read_weights(resources.files("contextrender").joinpath("weights/default.json").read_text("utf-8"))


def signals(names: NameUse, turn: int, task: Array) -> dict[str, Array]:
    """Every signal before the next invocation, by name, each of shape (results,).

    turn: invocations made; task: by result, the similarity to the task.
    """
    facts = Facts(names, turn, task)
    return {name: signal(facts) for name, signal in SIGNALS.items()}


def usefulness(
    signals: Mapping[str, Array], weights: Weights, least: Array | None = None
) -> tuple[Array, dict[str, Array]]:
    """By result, the chance that the coming turn uses it; and the terms of its logit by signal, with the bias.

    least: by result, what the chance is at least (`NameUse.asked_again`); the term `asked_again` is what that adds.
    """
    count = len(next(iter(signals.values()), np.zeros(0)))
    terms = {"bias": np.full(count, weights.bias)}
    for name, part in weights.signals.items():
        terms[name] = part.weight * (signals[name] - part.mean) / part.scale
    logit = np.sum(list(terms.values()), axis=0)
    if least is not None and least.any():
        terms["asked_again"] = np.maximum(0.0, np.log(np.maximum(least, _TINY) / (1 - least)) - logit)
        logit = logit + terms["asked_again"]
    chance: Array = 1 / (1 + np.exp(-np.clip(logit, -_LOGIT_MOST, _LOGIT_MOST)))
    return chance, terms
