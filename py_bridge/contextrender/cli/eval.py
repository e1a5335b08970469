"""`contextrender eval`: recall and cost of selectors on recorded runs."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

import click

DEFAULT_SELECTORS = "full,prune,rec,rel,rec+rel,paper,default,learned,clairvoyant"


@click.command("eval")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--budget", default=6000, show_default=True, type=click.IntRange(min=1), help="History tokens.")
@click.option("--selectors", default=DEFAULT_SELECTORS, show_default=True, help="Names of policies, with commas.")
@click.option("--embedder", default="wordllama", show_default=True, help="wordllama, hash or litellm:<model>.")
@click.option("--json", "json_out", type=click.Path(dir_okay=False, path_type=Path), help="Write the results as JSON.")
@click.option("--decisions", type=click.Path(dir_okay=False, path_type=Path), help="Write a JSON line a render.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, type=click.IntRange(min=1), help="Processes.")
@click.option("--check", is_flag=True, help="Check the legality of every render; exit 1 if one is illegal.")
@click.option("--keep-going", is_flag=True, help="Report bad lines and go on.")
def command(
    files: tuple[Path, ...],
    budget: int,
    selectors: str,
    embedder: str,
    json_out: Path | None,
    decisions: Path | None,
    jobs: int,
    check: bool,
    keep_going: bool,
) -> None:
    """Replay recorded runs (.json, .jsonl, .jsonl.gz of chat messages) and measure each selector."""
    from rich.console import Console
    from rich.progress import track

    from contextrender.baselines.registry import check_selector
    from contextrender.embeddings import Embeddings
    from contextrender.evaluation.replay import Task, replay_all
    from contextrender.evaluation.report import summarise, table
    from contextrender.evaluation.traces import read_traces

    names = tuple(dict.fromkeys(name.strip() for name in selectors.split(",") if name.strip()))
    for name in names:
        check_selector(name)
    Embeddings(embedder)
    if len({path.name for path in files}) < len(files):
        raise click.UsageError("two files have the same name; the results are keyed by it")
    console, notes = Console(width=None if os.isatty(1) else 150), Console(stderr=True)
    for path in filter(None, (json_out, decisions)):
        if not path.parent.is_dir():
            raise click.UsageError(f"the folder of {path} does not exist")
    report = (lambda error: notes.print(f"skipped: {error}", markup=False, soft_wrap=True)) if keep_going else None
    loaded = {
        path.name: [
            Task(trace, names, budget, embedder, check, decisions is not None) for trace in read_traces(path, report)
        ]
        for path in files
    }
    every = [task for tasks in loaded.values() for task in tasks]
    done = list(track(replay_all(every, jobs), "replaying", len(every), console=notes, transient=True))
    found, at = {}, 0
    for file, tasks in loaded.items():
        found[file] = summarise(done[at : at + len(tasks)], names)
        at += len(tasks)
        console.print(table(file, found[file], budget))
    if json_out:
        result = {"budget": budget, "embedder": embedder, "files": found}
        _write(json_out, [json.dumps(result, indent=1)])
    if decisions:
        rows = (row for outcome in done for name in names for row in outcome.selectors[name].decisions)
        _write(decisions, (json.dumps(row) for row in rows))
    if check:
        wrong = [text for outcome in done for name in names for text in outcome.selectors[name].illegal]
        for text in wrong[:20]:
            notes.print(text, markup=False)
        console.print(f"legality: {len(wrong)} violations")
        if wrong:
            raise click.exceptions.Exit(1)


def _write(path: Path, lines: Iterable[str]) -> None:
    """Write a file whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
