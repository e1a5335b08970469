"""Evaluation results as tables, for the terminal and for Markdown."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from contextrender.evaluation.events import AGE_BINS
from contextrender.evaluation.replay import REFERENCE

Results = Mapping[str, Mapping[str, Any]]
"""File name -> selector -> its summary."""

VARIANTS = {
    "rec": "CR–Recency",
    "rel": "CR–Relevance",
    "rec+rel": "CR–Recency + Relevance",
    "paper": "CR–Full (+Reuse)",
}
"""The rows of the paper's Table 2."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: its first column is text, the others are right-aligned figures."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = field(default=())

    def rich(self) -> Table:
        """For the terminal."""
        made = Table(title=self.title, caption="\n".join(self.notes) or None, caption_justify="left")
        for index, heading in enumerate(self.headings):
            made.add_column(heading, justify="right" if index else "left", no_wrap=not index)
        for row in self.rows:
            made.add_row(*row)
        return made

    def markdown(self) -> str:
        """For a report."""
        cells = [self.headings, ["---", *(["---:"] * (len(self.headings) - 1))], *self.rows]
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells]
        return "\n".join([f"### {self.title}", "", *lines, *(f"\n{note}" for note in self.notes), ""])


def number(value: float | None, digits: int) -> str:
    """A figure, or a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def spread(value: float | None, pair: Sequence[float] | None, digits: int) -> str:
    """A figure with its confidence interval."""
    if value is None or pair is None:
        return number(value, digits)
    return f"{value:.{digits}f} [{pair[0]:.{digits}f}, {pair[1]:.{digits}f}]"


def _share(pair: Sequence[int]) -> float | None:
    return 100 * pair[0] / pair[1] if pair[1] else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def incomplete(results: Results) -> list[str]:
    """A note on each selector that did not get through all traces of a file."""
    return [
        f"{name} is measured on {row['incomplete']['traces']} of {row['incomplete']['of']} traces of {file}: "
        f"{row['incomplete']['reason']}"
        for file, summary in results.items()
        for name, row in summary.items()
        if "incomplete" in row
    ]


def file_table(file: str, summary: Mapping[str, Any], budget: int, labels: Mapping[str, str]) -> Grid:
    """One file's results."""
    events = max((row["events"] for row in summary.values()), default=0)
    headings = ("selector", "recall %", *(f"age {age_bin}" for age_bin in AGE_BINS), "over budget", "traces > B",
                "recall > B", "cost, fixed ρ", "cost, real cache")  # fmt: skip
    rows = []
    for name, row in summary.items():
        cost = row["cost"]
        ages = (number(_share(row["by_age"][age_bin]), 1) for age_bin in AGE_BINS)
        rows.append((
            labels.get(name, name), number(row["recall"], 1), *ages, str(row["over_budget"]), str(cost["traces"]),
            number(cost["recall"], 1), number(cost["vs_full_fixed_rate"], 3), number(cost["vs_full_real_cache"], 3),
        ))  # fmt: skip
    return Grid(f"{file}: {events:,} reuse events, B = {budget:,}", headings, rows, incomplete({file: summary}))


def ablation_table(results: Results, budget: int, others: Collection[str], goals: Mapping[str, str]) -> Grid:
    """Table 2's shape: goals reached in the closed loop, recall by file, recall by the result's age over all files.

    others: selectors with a row below the paper's four variants. goals: by selector, the figure of the first column.
    """
    rows = []
    for name in dict.fromkeys((*VARIANTS, *others)):
        mine = [summary[name] for summary in results.values() if name in summary]
        if len(mine) < len(results):
            continue
        ages = [
            _share((sum(row["by_age"][age_bin][0] for row in mine), sum(row["by_age"][age_bin][1] for row in mine)))
            for age_bin in AGE_BINS
        ]
        rows.append((
            VARIANTS.get(name, name), *([goals.get(name, "–")] if goals else []),
            *(spread(row["recall"], row["recall_ci"], 1) for row in mine),
            number(_mean([row["recall"] for row in mine]), 1),
            *(number(age, 1) for age in ages),
        ))  # fmt: skip
    headings = ["variant", *(["goals reached"] if goals else []), *(f"recall: {_short(file)}" for file in results)]
    headings += ["mean", *(f"age {age_bin}" for age_bin in AGE_BINS)]
    return Grid(f"Ablation (the shape of Table 2), B = {budget:,}", headings, rows)


def cost_table(file: str, summary: Mapping[str, Any], budget: int, labels: Mapping[str, str]) -> Grid:
    """The shape of Tables 6–8: recall instead of task performance, mean tokens and cost of a trace that exceeds B."""
    headings = ["method", "recall > B %", "P", "O", "E", "$, fixed ρ", "normalised", "$, real cache", "normalised"]
    tariffs = list(next(iter(summary.values()))["cost"]["vs_full_by_tariff"]) if summary else []
    headings += [f"at {name}" for name in tariffs if name != "paper"]
    rows = []
    for name, row in summary.items():
        cost = row["cost"]
        traces = cost["traces"]
        if not traces:
            continue
        rows.append((
            labels.get(name, name), spread(cost["recall"], cost["recall_ci"], 1),
            *(f"{cost[key] / traces:,.0f}" for key in ("prompt_tokens", "output_tokens", "embedding_tokens")),
            f"{cost['usd_fixed_rate'] / traces:.4f}",
            spread(cost["vs_full_fixed_rate"], cost["vs_full_fixed_rate_ci"], 3),
            f"{cost['usd_real_cache'] / traces:.4f}",
            spread(cost["vs_full_real_cache"], cost["vs_full_real_cache_ci"], 3),
            *(number(cost["vs_full_by_tariff"][known], 3) for known in tariffs if known != "paper"),
        ))  # fmt: skip
    reference = summary.get(REFERENCE, next(iter(summary.values()), None))
    rate = f"ρ = {reference['cost']['cache_rate_full']:.3f}" if reference else ""
    count = reference["cost"]["traces"] if reference else 0
    return Grid(f"{file}: cost of the {count} traces that exceed B = {budget:,}; {rate}", headings, rows)


def mean_table(results: Results, budget: int, labels: Mapping[str, str]) -> Grid:
    """Means over the files in which some trace exceeds B: recall there, and cost relative to full history."""
    bites = {
        file: summary for file, summary in results.items() if any(row["cost"]["traces"] for row in summary.values())
    }
    rows = []
    names = dict.fromkeys(name for summary in bites.values() for name in summary)
    for name in names:
        costs = [summary[name]["cost"] for summary in bites.values() if name in summary]
        recalls = [cost["recall"] for cost in costs]
        real = [cost["vs_full_real_cache"] for cost in costs]
        rows.append((
            labels.get(name, name), number(_mean([summary[name]["recall"] for summary in bites.values()]), 1),
            number(_mean(recalls), 1), number(min((r for r in recalls if r is not None), default=None), 1),
            number(_mean([cost["vs_full_fixed_rate"] for cost in costs]), 3), number(_mean(real), 3),
            number(max((r for r in real if r is not None), default=None), 3),
        ))  # fmt: skip
    headings = ("selector", "recall %", "recall > B", "lowest", "cost, fixed ρ", "cost, real cache", "dearest")
    files = ", ".join(map(_short, bites)) or "none"
    return Grid(f"Means over the files with traces above B = {budget:,}", headings, rows, [f"Files: {files}."])


def _short(file: str) -> str:
    return file.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")
