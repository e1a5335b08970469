"""Confidence intervals by bootstrap over traces: the traces are drawn again, with replacement."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Sums = npt.NDArray[np.float64]

DRAWS = 1000
SEED = 20260930
LEVEL = 95.0


def interval(
    sources: Sequence[npt.ArrayLike], statistic: Callable[[Sums], Sums], draws: int = DRAWS
) -> tuple[float, float] | None:
    """The 95 % percentile interval of a statistic of sums over traces.

    sources: by source of traces an array (traces, columns); traces are drawn within their source, and the statistic's
    mean over the sources is taken. statistic: sums (draws, columns) -> values (draws,), NaN where it is not defined.
    None when no draw defines it.
    """
    generator = np.random.default_rng(SEED)
    values = []
    for source in sources:
        table = np.asarray(source, dtype=np.float64)
        if len(table):
            weights = generator.multinomial(len(table), np.full(len(table), 1 / len(table)), size=draws)
            with np.errstate(divide="ignore", invalid="ignore"):
                values.append(statistic(weights @ table))
    if not values:
        return None
    means = np.mean(values, axis=0)
    means = means[np.isfinite(means)]
    if not len(means):
        return None
    low, high = np.percentile(means, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return float(low), float(high)


def percent(sums: Sums) -> Sums:
    """100 × column 0 / column 1: recall of summed hits and events."""
    return 100 * sums[:, 0] / sums[:, 1]


def ratio(sums: Sums) -> Sums:
    """Column 0 / column 1: a ratio of mean costs (Eq. 9)."""
    return sums[:, 0] / sums[:, 1]
