"""Evaluation results as JSON: recall with age bins (Eq. 8), renders over the budget, cost (Eq. 3, 9)."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from contextrender.evaluation.bootstrap import interval, percent, ratio
from contextrender.evaluation.cost import PAPER, Tariff, Usage, metered
from contextrender.evaluation.events import AGE_BINS
from contextrender.evaluation.replay import REFERENCE, Outcome, TraceOutcome

Pair = tuple[Outcome, Outcome]
"""A selector's outcome on a trace, and that of full history."""


def _rounded(pair: tuple[float, float] | None, digits: int) -> list[float] | None:
    return [round(pair[0], digits), round(pair[1], digits)] if pair else None


def _percent(hits: int, events: int) -> float | None:
    return round(100 * hits / events, 2) if events else None


def _cost(outcomes: Sequence[TraceOutcome], name: str, budget: int, tariffs: Mapping[str, Tariff]) -> dict[str, Any]:
    """Cost on the traces that exceed the budget (App. C.1), against full history on the same traces."""
    chosen = [outcome for outcome in outcomes if outcome.exceeds(budget)]
    pairs = [(outcome.cases[name, budget], outcome.cases[REFERENCE, budget]) for outcome in chosen]
    usage, management, reference = Usage(), Usage(), Usage()
    for mine, full in pairs:
        usage += mine.usage
        management += mine.management
        reference += full.usage
    rate = reference.cache_rate
    usage += management
    hits = sum(mine.hits.total() for mine, _ in pairs)
    events = sum(outcome.events.total() for outcome in chosen)
    fixed, real = usage.usd_fixed_rate(rate), usage.usd_real_cache()
    full_fixed, full_real = reference.usd_fixed_rate(rate), reference.usd_real_cache()
    table = [_costs(pair, rate) for pair in pairs]
    recalls = [(mine.hits.total(), outcome.events.total()) for (mine, _), outcome in zip(pairs, chosen, strict=True)]
    return {
        "traces": len(chosen),
        "recall": _percent(hits, events),
        "prompt_tokens": usage.prompt,
        "cached_tokens": usage.cached,
        "output_tokens": usage.output,
        "usd_fixed_rate": fixed,
        "usd_real_cache": real,
        "vs_full_fixed_rate": fixed / full_fixed if full_fixed else None,
        "vs_full_real_cache": real / full_real if full_real else None,
        "embedding_tokens": usage.embedding,
        "management": {"prompt": management.prompt, "output": management.output, "embedding": management.embedding},
        "cache_rate_full": rate,
        "recall_ci": _rounded(interval([recalls], percent), 2),
        "vs_full_fixed_rate_ci": _rounded(interval([[row[:2] for row in table]], ratio), 4),
        "vs_full_real_cache_ci": _rounded(interval([[row[2:] for row in table]], ratio), 4),
        "vs_full_by_tariff": {known: _versus(pairs, tariff) for known, tariff in tariffs.items()},
    }


def _costs(pair: Pair, rate: float) -> tuple[float, float, float, float]:
    """USD of the selector and of full history: with the fixed rate, with the real cache."""
    mine, full = pair
    usage = Usage()
    usage += mine.usage
    usage += mine.management
    return (
        usage.usd_fixed_rate(rate),
        full.usage.usd_fixed_rate(rate),
        usage.usd_real_cache(),
        full.usage.usd_real_cache(),
    )


def _versus(pairs: Sequence[Pair], tariff: Tariff) -> float | None:
    """Cost with the real cache at a provider's prices, cache writes included, relative to full history."""
    mine = full = 0.0
    for outcome, reference in pairs:
        mine += metered(outcome.calls, outcome.output, tariff).usd_real_cache(tariff)
        mine += outcome.management.usd_real_cache(tariff)
        full += metered(reference.calls, reference.output, tariff).usd_real_cache(tariff)
    return mine / full if full else None


def summarise(
    outcomes: Sequence[TraceOutcome],
    selectors: Collection[str],
    budget: int,
    tariffs: Mapping[str, Tariff] | None = None,
) -> dict[str, Any]:
    """One file's results by selector under one budget.

    A selector that failed on some traces is measured on the others, and says so under `incomplete`.
    """
    summary: dict[str, Any] = {}
    for name in selectors:
        done = [outcome for outcome in outcomes if not outcome.cases[name, budget].failed]
        cases = [outcome.cases[name, budget] for outcome in done]
        events: Counter[str] = Counter()
        hits: Counter[str] = Counter()
        for outcome, case in zip(done, cases, strict=True):
            events.update(outcome.events)
            hits.update(case.hits)
        recalls = [(case.hits.total(), outcome.events.total()) for outcome, case in zip(done, cases, strict=True)]
        summary[name] = {
            "events": events.total(),
            "hits": hits.total(),
            "recall": _percent(hits.total(), events.total()),
            "by_age": {age_bin: [hits[age_bin], events[age_bin]] for age_bin in AGE_BINS},
            "over_budget": sum(case.over_budget for case in cases),
            "cost": _cost(done, name, budget, tariffs if tariffs is not None else {"paper": PAPER}),
            "recall_ci": _rounded(interval([recalls], percent), 2),
        }
        if len(done) < len(outcomes):
            failed = next(outcome.cases[name, budget].failed for outcome in outcomes if outcome not in done)
            summary[name]["incomplete"] = {"traces": len(done), "of": len(outcomes), "reason": failed}
    return summary


def frontier(
    files: Mapping[str, Sequence[TraceOutcome]], selectors: Collection[str], budgets: Sequence[int], bites: int
) -> dict[str, list[dict[str, Any]]]:
    """By selector, its recall and real cost under each budget: what the chart shows.

    Always on the same traces, those whose history exceeds `bites`; means over the files that have such traces.
    """
    chosen = {file: [one for one in outcomes if one.exceeds(bites)] for file, outcomes in files.items()}
    chosen = {file: outcomes for file, outcomes in chosen.items() if outcomes}
    found: dict[str, list[dict[str, Any]]] = {}
    for name in selectors:
        for budget in budgets:
            complete = [[one for one in outcomes if not one.cases[name, budget].failed] for outcomes in chosen.values()]
            if not complete or not all(complete):
                continue
            recalls = [
                [(one.cases[name, budget].hits.total(), one.events.total()) for one in outcomes]
                for outcomes in complete
            ]
            costs = [
                [_costs((one.cases[name, budget], one.cases[REFERENCE, budget]), 0.0)[2:] for one in outcomes]
                for outcomes in complete
            ]
            row = {
                "budget": budget,
                "recall": _mean([100 * _over(rows) for rows in recalls]),
                "recall_ci": _rounded(interval(recalls, percent), 2),
                "vs_full_real_cache": _mean([_over(rows) for rows in costs]),
                "vs_full_real_cache_ci": _rounded(interval(costs, ratio), 4),
            }
            found.setdefault(name, []).append(row)
    return found


def _over(rows: Sequence[tuple[float, float]]) -> float:
    above, below = (sum(column) for column in zip(*rows, strict=True))
    return above / below if below else float("nan")


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)
