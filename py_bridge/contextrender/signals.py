"""Signals: each gives every tool result one number (paper Eq. 2). A policy weighs and sums them.

A signal is `score(view) -> array (results,)`. Register one by name with `register`, or through the entry-point group
`contextrender.signals`; any policy, the replay and `explain` can then use it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import entry_points

import numpy as np
import numpy.typing as npt

from contextrender.embeddings import Embeddings, Vector
from contextrender.errors import InputError
from contextrender.history import History

Array = npt.NDArray[np.float64]
Signal = Callable[["View"], Array]

ROUNDING = 12
"""Decimals kept of a similarity: linear algebra kernels differ in the last bits, and ties must not depend on them."""


def _unit(vector: Vector) -> Vector:
    norm = float(np.linalg.norm(vector))
    return vector / norm if norm else vector


@dataclass
class View:
    """What a signal may look at: the branch up to now, never the future. Arrays are in result order."""

    history: History
    embeddings: Embeddings
    decay: float = 0.3
    saturation: float = 0.2
    given: Mapping[int, float] = field(default_factory=dict)

    @cached_property
    def ages(self) -> Array:
        """Invocations since the one that made each result's call; 0 for the latest turn's results (App. A.3)."""
        return self.history.turn - np.array(self.history.result_turns, dtype=np.float64)

    @cached_property
    def vectors(self) -> Vector:
        """Unit embeddings of the results, shape (results, d)."""
        return self.history.vectors(self.embeddings)

    def similarity(self, query: Vector) -> Array:
        """max(cos, 0) of each result to a unit query (Eq. 5)."""
        if not self.history.results:
            return np.zeros(0)
        return np.round(np.maximum(np.asarray(self.vectors @ query, dtype=np.float64), 0), ROUNDING)

    @cached_property
    def task(self) -> Vector:
        """Unit embedding of the clipped task."""
        vector: Vector = self.embeddings([self.history.task_text()])[0]
        return vector

    @cached_property
    def query(self) -> Vector:
        """q_t = 0.4 unit(emb(task)) + 0.6 unit(emb(latest interaction)), of unit length (Eq. 4)."""
        return _unit(0.4 * self.task + 0.6 * self.embeddings([self.history.latest_text()])[0])


def recency(view: View) -> Array:
    """e^(-λ age) (Eq. 2)."""
    return np.exp(-view.decay * view.ages)


def idle(view: View) -> Array:
    """e^(-λ idle): like recency, but a reuse makes a result young again (design §8)."""
    return np.exp(-view.decay * (view.history.turn - np.array(view.history.last_use, dtype=np.float64)))


def reuse(view: View) -> Array:
    """1 - e^(-γ c(r)), observed reuse (Eq. 1, 2)."""
    return -np.expm1(-view.saturation * np.array(view.history.reuse.scores, dtype=np.float64))


def relevance(view: View) -> Array:
    """max(cos(emb(r), q_t), 0) (Eq. 5)."""
    return view.similarity(view.query)


def newest(view: View) -> Array:
    """Transcript order, newest highest (baseline Prune, App. B.2)."""
    return np.arange(len(view.history.results), dtype=np.float64)


def given(view: View) -> Array:
    """Scores handed in by the caller, by message position (the clairvoyant bound of the evaluation)."""
    return np.array([view.given.get(entry.position, 0.0) for entry in view.history.results], dtype=np.float64)


_SIGNALS: dict[str, Signal] = {
    "recency": recency,
    "idle": idle,
    "reuse": reuse,
    "relevance": relevance,
    "newest": newest,
    "given": given,
}


def register(name: str, signal: Signal) -> None:
    """Make a signal available under a name. Raises InputError when the name is taken by another function."""
    if _SIGNALS.get(name, signal) is not signal:
        raise InputError(f"the signal {name!r} exists already", "signal", "a new name")
    _SIGNALS[name] = signal


def signal_by_name(name: str) -> Signal:
    """The signal with this name: built in, registered, or from an installed package's entry point."""
    if name not in _SIGNALS:
        for point in entry_points(group="contextrender.signals", name=name):
            register(name, point.load())
    if name not in _SIGNALS:
        raise InputError(f"unknown signal {name!r}", "policy.weights", ", ".join(sorted(_SIGNALS)))
    return _SIGNALS[name]


def score(view: View, weights: Mapping[str, float]) -> tuple[Array, dict[str, Array]]:
    """U(r) = Σ weight · signal (Eq. 2) and each term of it. Signals of weight 0 are not computed."""
    count = len(view.history.results)
    total = np.zeros(count)
    terms: dict[str, Array] = {}
    for name, weight in weights.items():
        if not weight:
            continue
        values = np.asarray(signal_by_name(name)(view), dtype=np.float64)
        if values.shape != (count,) or not np.isfinite(values).all():
            raise InputError(
                f"returned shape {values.shape} for {count} results, or numbers that are not finite",
                f"signal {name!r}",
                f"finite numbers of shape ({count},)",
            )
        terms[name] = weight * values
        total = total + terms[name]
    return total, terms
