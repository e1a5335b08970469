"""`contextrender eval`: recall and cost of selectors on recorded runs, and goals reached in a closed loop."""

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextrender.endpoint import default_embedder

if TYPE_CHECKING:
    from rich.console import Console

    from contextrender.evaluation.partial import Partial
    from contextrender.evaluation.replay import Case, Task, TraceOutcome

DEFAULT_SELECTORS = "policies"
WRITABLE = click.Path(dir_okay=False, path_type=Path)


def _budgets(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[int, ...]:
    if not text:
        return ()
    try:
        budgets = tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        budgets = ()
    if not budgets or min(budgets) < 1:
        raise click.BadParameter(f"{text!r} is not a list of whole numbers with commas")
    return tuple(sorted(set(budgets)))


def _chart(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    if path and path.suffix not in (".png", ".svg"):
        raise click.BadParameter(f"{path}: the name must end in .png or .svg")
    return path


@click.command("eval")
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--budget", default=6000, show_default=True, type=click.IntRange(min=1), help="History tokens.")
@click.option("--budgets", callback=_budgets, help="A sweep, such as 2000,4000,6000; tables are for --budget.")
@click.option("--selectors", default=DEFAULT_SELECTORS, show_default=True,
              help="Names with commas; sets: all, paper-table, ablation, policies, peers.")  # fmt: skip
@click.option("--embedder", default=default_embedder, help="wordllama (default), hash, litellm:<model>.")
@click.option("--json", "json_out", type=WRITABLE, help="Write the results as JSON.")
@click.option("--decisions", type=WRITABLE, help="Write a JSON line a render.")
@click.option("--chart", callback=_chart, type=WRITABLE, help="Draw recall against real cost (.png or .svg).")
@click.option("--report", type=click.Path(file_okay=False, path_type=Path), help="Folder for Markdown, figures, JSON.")
@click.option("--closed-loop", is_flag=True, help="Let the app world's agent run on the renders, up to --budget.")
@click.option("--worlds", default=3, show_default=True, type=click.IntRange(min=1), help="Worlds of the closed loop.")
@click.option("--resume", is_flag=True, help="Go on where an evaluation that stopped left off.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, type=click.IntRange(min=1), help="Processes.")
@click.option("--check", is_flag=True, help="Check the legality of every render; exit 1 if one is illegal.")
@click.option("--keep-going", is_flag=True, help="Report bad lines and go on.")
def command(
    files: tuple[Path, ...],
    budget: int,
    budgets: tuple[int, ...],
    selectors: str,
    embedder: str,
    json_out: Path | None,
    decisions: Path | None,
    chart: Path | None,
    report: Path | None,
    closed_loop: bool,
    worlds: int,
    resume: bool,
    jobs: int,
    check: bool,
    keep_going: bool,
) -> None:
    """Replay recorded runs and measure each selector: recall of later-used results, and cost.

    Exit code 1: an illegal render with --check, or a selector that failed on some runs.
    """
    from rich.console import Console

    from contextrender.baselines.registry import Settings, label
    from contextrender.embeddings import Embeddings
    from contextrender.evaluation.chart import draw
    from contextrender.evaluation.files import write_lines
    from contextrender.evaluation.partial import Partial
    from contextrender.evaluation.replay import Task, with_reference
    from contextrender.evaluation.report import chart_title, grids, write_report
    from contextrender.evaluation.selectors import expand
    from contextrender.evaluation.summary import frontier, summarise
    from contextrender.evaluation.tables import file_table
    from contextrender.evaluation.tariffs import TARIFFS
    from contextrender.evaluation.traces import read_traces

    if not files and not closed_loop:
        raise click.UsageError("name at least one file of recorded runs, or ask for --closed-loop")
    if chart and not files:
        raise click.UsageError("--chart needs recorded runs")
    if len({path.name for path in files}) < len(files):
        raise click.UsageError("two files have the same name; the results are keyed by it")
    names, left_out = expand(selectors)
    Embeddings(embedder)
    for path in filter(None, (json_out, decisions, chart)):
        if not path.parent.is_dir():
            raise click.UsageError(f"the folder of {path} does not exist")
    if report:
        report.mkdir(parents=True, exist_ok=True)
    elif resume and not json_out:
        raise click.UsageError("--resume needs the --json or --report of the evaluation that stopped")
    console, notes = Console(width=None if os.isatty(1) else 150), Console(stderr=True)
    for why in left_out:
        notes.print(f"not measured: {why}", markup=False, soft_wrap=True)
    swept = budgets or (budget,)
    if budget not in swept:
        budget = swept[0]
    labels = {name: label(name, Settings(budget)) for name in names}
    skip = (lambda error: notes.print(f"skipped: {error}", markup=False, soft_wrap=True)) if keep_going else None
    cases = with_reference(names, swept)
    tasks = {
        path.name: [
            Task(trace, cases, embedder, check, decisions is not None, len(swept) > 1)
            for trace in read_traces(path, skip)
        ]
        for path in files
    }
    place = report / "partial.jsonl" if report else json_out.with_name(f"{json_out.name}.partial") if json_out else None
    partial = Partial(place, resume) if place else None
    done = _replay(tasks, partial, jobs, notes)
    result: dict[str, Any] = {
        "budget": budget,
        "embedder": embedder,
        "files": {file: summarise(outcomes, names, budget, TARIFFS) for file, outcomes in done.items()},
    }
    if left_out:
        result["left_out"] = left_out
    if len(swept) > 1:
        result["sweep"] = {
            str(one): {file: summarise(outcomes, names, one, TARIFFS) for file, outcomes in done.items()}
            for one in swept
        }
    if chart or report:
        result["frontier"] = frontier(done, names, swept, budget)
    loop: dict[Case, dict[str, object]] = {}
    if closed_loop or report:
        loop = _closed_loop(
            [(name, one) for one in swept if one <= budget for name in names], embedder, worlds, jobs, notes
        )
        result["closed_loop"] = [{"selector": name, "budget": one, **row} for (name, one), row in loop.items()]
    if report:
        write_report(report, result, labels, loop, shlex.join(["contextrender", *sys.argv[1:]]))
        shown = grids(result, labels, loop)
    else:
        shown = [file_table(file, summary, budget, labels) for file, summary in result["files"].items()]
        shown += grids({**result, "files": {}}, labels, loop) if loop else []
    for grid in shown:
        console.print(grid.rich())
    if chart:
        draw(result["frontier"], labels, chart, chart_title(swept, budget, embedder))
    if json_out:
        write_lines(json_out, [json.dumps(result, indent=1)])
    outcomes = [
        outcome.cases[name, one] for file in done.values() for outcome in file for name in names for one in swept
    ]
    if decisions:
        write_lines(decisions, (json.dumps(row) for outcome in outcomes for row in outcome.decisions))
    failed = [outcome.failed for outcome in outcomes if outcome.failed]
    if partial:
        partial.close(complete=not failed)
    if failed:
        again = f"; {place} holds the rest: --resume tries them again" if place else ""
        notes.print(f"{len(failed)} runs of selectors failed{again}", markup=False, soft_wrap=True)
    if check:
        wrong = [text for outcome in outcomes for text in outcome.illegal]
        for text in wrong[:20]:
            notes.print(text, markup=False)
        console.print(f"legality: {len(wrong)} violations")
        failed += wrong
    if failed:
        raise click.exceptions.Exit(1)


def _replay(
    tasks: dict[str, list["Task"]], partial: "Partial | None", jobs: int, notes: "Console"
) -> dict[str, list["TraceOutcome"]]:
    """Each file's outcomes in the order of its traces; what is known already is not replayed again."""
    from rich.progress import track

    from contextrender.evaluation.pool import replay_all

    every = [(file, task) for file, of_file in tasks.items() for task in of_file]
    done: list[TraceOutcome | None] = [None] * len(every)
    left: list[tuple[int, Task]] = []
    for index, (_, task) in enumerate(every):
        rest, done[index] = partial.known(task) if partial else (task, None)
        if rest.cases:
            left.append((index, rest))
    found = replay_all([task for _, task in left], jobs)
    for number, outcome in track(found, "replaying", len(left), console=notes, transient=True):
        index, task = left[number]
        if partial:
            partial.add(every[index][0], task, outcome)
        known = done[index]
        if known:
            outcome.cases |= known.cases
        done[index] = outcome
    results = iter(done)
    return {
        file: [outcome for _, outcome in zip(of_file, results, strict=False) if outcome]
        for file, of_file in tasks.items()
    }


def _closed_loop(
    cases: list["Case"], embedder: str, worlds: int, jobs: int, notes: "Console"
) -> dict["Case", dict[str, object]]:
    from rich.progress import track

    from contextrender.evaluation.closed_loop import BLIND, Played, play_all, total
    from contextrender.world.tasks import all_tasks

    runs = len(all_tasks()) * worlds * sum(name not in BLIND for name, _ in cases)
    played: dict[Case, list[Played]] = {}
    for case, one in track(play_all(cases, embedder, worlds, jobs), "playing", runs, console=notes, transient=True):
        played.setdefault(case, []).append(one)
    return {case: total(rows) for case, rows in played.items()}
