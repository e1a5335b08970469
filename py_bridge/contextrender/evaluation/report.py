"""The report: one folder with Markdown, figures, and all results as JSON."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from contextrender.evaluation.chart import draw
from contextrender.evaluation.closed_loop import loop_table
from contextrender.evaluation.files import write_lines
from contextrender.evaluation.replay import Case
from contextrender.evaluation.tables import Grid, ablation_table, cost_table, file_table, mean_table

CHART = "frontier"


def chart_title(budgets: Sequence[int], bites: int, embedder: str) -> str:
    """What the chart shows, in a line."""
    sizes = ", ".join(f"{budget / 1000:g}K" for budget in budgets)
    return f"Recall against real cost on recorded runs above {bites / 1000:g}K tokens, B = {sizes}; embedder {embedder}"


def grids(result: Mapping[str, Any], labels: Mapping[str, str], loop: dict[Case, dict[str, object]]) -> list[Grid]:
    """All tables, for the main budget."""
    files, budget = result["files"], result["budget"]
    made: list[Grid] = []
    if files:
        goals = {
            name: f"{row['goals_reached']} of {row['tasks']}" for (name, known), row in loop.items() if known == budget
        }
        others = [
            name for name in ("default", "default@every_call", "auto") if any(name in one for one in files.values())
        ]
        made.append(mean_table(files, budget, labels))
        made.append(ablation_table(files, budget, others, goals))
        made += [cost_table(file, summary, budget, labels) for file, summary in files.items()]
        made += [file_table(file, summary, budget, labels) for file, summary in files.items()]
    if loop:
        made.append(loop_table(loop, dict(labels)))
    return [grid for grid in made if grid.rows]


def _sweep(points: Mapping[str, Sequence[Mapping[str, Any]]], labels: Mapping[str, str]) -> Grid:
    budgets = sorted({row["budget"] for rows in points.values() for row in rows})
    table = []
    for name, rows in points.items():
        by_budget = {row["budget"]: row for row in rows}
        table.append((
            labels.get(name, name),
            *(f"{by_budget[b]['recall']:.1f} at {by_budget[b]['vs_full_real_cache']:.2f}" if b in by_budget else "–"
              for b in budgets),
        ))  # fmt: skip
    return Grid("Recall at real cost, by budget", ("selector", *(f"{budget:,}" for budget in budgets)), table)


def write_report(
    folder: Path,
    result: Mapping[str, Any],
    labels: Mapping[str, str],
    loop: dict[Case, dict[str, object]],
    command: str,
) -> None:
    """report.md, results.json, and the chart as PNG and SVG where there are points to draw."""
    points = result.get("frontier", {})
    text = ["# Evaluation", "", f"Made by `{command}`.", ""]
    text += [f"Budget {result['budget']:,} tokens unless a table says otherwise; embedder {result['embedder']}. "
             "Figures in brackets are 95 % bootstrap intervals over traces. What each number means: docs/evaluation.md "
             "of ContextRender.", ""]  # fmt: skip
    if result.get("left_out"):
        text += ["Not measured:", "", *(f"- {why}" for why in result["left_out"]), ""]
    if points:
        budgets = sorted({row["budget"] for rows in points.values() for row in rows})
        for suffix in (".png", ".svg"):
            title = chart_title(budgets, result["budget"], result["embedder"])
            draw(points, labels, folder / f"{CHART}{suffix}", title)
        text += [f"![recall against real cost]({CHART}.png)", "", _sweep(points, labels).markdown()]
    text += [grid.markdown() for grid in grids(result, labels, loop)]
    write_lines(folder / "report.md", text)
    write_lines(folder / "results.json", [json.dumps(result, indent=1)])
