"""Evaluation results as JSON and as tables."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.table import Table

from contextrender.evaluation.cost import Usage
from contextrender.evaluation.events import AGE_BINS
from contextrender.evaluation.replay import REFERENCE, TraceOutcome


def _percent(hits: int, events: int) -> float | None:
    return round(100 * hits / events, 2) if events else None


def _cost(outcomes: Sequence[TraceOutcome], name: str) -> dict[str, Any]:
    """Cost on the traces that exceed the budget (App. C.1), against full history on the same traces."""
    chosen = [outcome for outcome in outcomes if outcome.exceeds]
    usage, management, reference = Usage(), Usage(), Usage()
    for outcome in chosen:
        usage += outcome.selectors[name].usage
        management += outcome.selectors[name].management
        reference += outcome.selectors[REFERENCE].usage
    rate = reference.cache_rate
    usage += management
    hits = sum(sum(outcome.selectors[name].hits.values()) for outcome in chosen)
    events = sum(sum(outcome.events.values()) for outcome in chosen)
    fixed, real = usage.usd_fixed_rate(rate), usage.usd_real_cache()
    full_fixed, full_real = reference.usd_fixed_rate(rate), reference.usd_real_cache()
    return {
        "traces": len(chosen),
        "recall": _percent(hits, events),
        "prompt_tokens": usage.prompt,
        "cached_tokens": usage.cached,
        "output_tokens": usage.output,
        "embedding_tokens": usage.embedding,
        "management": {"prompt": management.prompt, "output": management.output, "embedding": management.embedding},
        "usd_fixed_rate": fixed,
        "usd_real_cache": real,
        "vs_full_fixed_rate": fixed / full_fixed if full_fixed else None,
        "vs_full_real_cache": real / full_real if full_real else None,
    }


def summarise(outcomes: Sequence[TraceOutcome], selectors: Sequence[str]) -> dict[str, Any]:
    """One file's results by selector: recall with age bins (Eq. 8), renders over the budget, cost (Eq. 3, 9)."""
    events: Counter[str] = Counter()
    for outcome in outcomes:
        events.update(outcome.events)
    summary: dict[str, Any] = {}
    for name in selectors:
        hits: Counter[str] = Counter()
        for outcome in outcomes:
            hits.update(outcome.selectors[name].hits)
        summary[name] = {
            "events": events.total(),
            "hits": hits.total(),
            "recall": _percent(hits.total(), events.total()),
            "by_age": {age_bin: [hits[age_bin], events[age_bin]] for age_bin in AGE_BINS},
            "over_budget": sum(outcome.selectors[name].over_budget for outcome in outcomes),
            "cost": _cost(outcomes, name),
        }
    return summary


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def table(file: str, summary: dict[str, Any], budget: int) -> Table:
    """One file's results as a table."""
    events = next(iter(summary.values()))["events"] if summary else 0
    made = Table(title=f"{file}: {events:,} reuse events, B = {budget:,}")
    made.add_column("selector", no_wrap=True)
    headings = ("recall %", *(f"age {age_bin}" for age_bin in AGE_BINS), "over budget", "traces > B", "recall > B",
                "cost, fixed ρ", "cost, real cache")  # fmt: skip
    for heading in headings:
        made.add_column(heading, justify="right")
    for name, row in summary.items():
        ages = (_percent(*row["by_age"][age_bin]) for age_bin in AGE_BINS)
        cost = row["cost"]
        made.add_row(
            name, _number(row["recall"], 1), *(_number(age, 1) for age in ages), str(row["over_budget"]),
            str(cost["traces"]), _number(cost["recall"], 1), _number(cost["vs_full_fixed_rate"], 3),
            _number(cost["vs_full_real_cache"], 3),
        )  # fmt: skip
    return made
