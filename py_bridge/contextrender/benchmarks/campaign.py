"""Tasks × methods, resumable: a finished run is a line of `runs.jsonl`, and a campaign goes on behind the last."""

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from contextrender.baselines.registry import Settings, make_selector
from contextrender.benchmarks.loop import run_task
from contextrender.benchmarks.model import Endpoint, Model
from contextrender.benchmarks.task import Benchmark
from contextrender.errors import InputError
from contextrender.evaluation.cost import Usage
from contextrender.evaluation.replay import REFERENCE

type Row = dict[str, Any]

RUNS, SETTINGS, TRACES = "runs.jsonl", "settings.json", "traces.jsonl"


@dataclass(frozen=True, slots=True)
class Campaign:
    """What is compared. `selectors` by name (contextrender eval --selectors); the rest is the same for all of them."""

    benchmark: Benchmark
    selectors: tuple[str, ...]
    endpoint: Endpoint
    settings: Settings
    embedder: str
    tasks: tuple[str, ...]

    def identity(self) -> dict[str, Any]:
        """What must not change between the parts of a resumed campaign. No key, and nothing that only adds runs."""
        endpoint = asdict(self.endpoint)
        for name in ("api_key", "base_url", "timeout", "retries"):
            del endpoint[name]
        return {"benchmark": self.benchmark.name, "budget": self.settings.budget, "embedder": self.embedder, **endpoint}


def read_rows(folder: Path) -> list[Row]:
    """The finished runs of a folder; a half-written last line is left out. Raises InputError for any other bad line."""
    path = folder / RUNS
    if not path.exists():
        return []
    lines = path.read_text("utf-8").split("\n")
    rows = []
    for number, line in enumerate(lines[:-1], 1):
        try:
            rows.append(json.loads(line))
        except ValueError as problem:
            raise InputError(f"not JSON ({problem})", f"{path}:{number}", "a line that a campaign wrote") from problem
    return rows


def prepare(campaign: Campaign, folder: Path) -> list[Row]:
    """Make or re-open a campaign's folder; returns the runs that are done.

    Raises InputError where the folder holds a campaign with other settings.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / SETTINGS
    identity = campaign.identity()
    if path.exists():
        there = json.loads(path.read_text("utf-8"))
        other = sorted(name for name in identity if there.get(name) != identity[name])
        if other:
            raise InputError(f"holds a campaign with another {', '.join(other)}", str(folder), "the same settings")
    else:
        path.write_text(json.dumps(identity, indent=1) + "\n", "utf-8")
    rows = read_rows(folder)
    runs = folder / RUNS
    if runs.exists():
        whole = "".join(json.dumps(row) + "\n" for row in rows)
        if whole != runs.read_text("utf-8"):
            runs.write_text(whole, "utf-8")
    return rows


def run_campaign(campaign: Campaign, folder: Path, done: Sequence[Row]) -> Generator[Row]:
    """Run what is not done yet, and yield each run as it is kept. The run's messages go to `traces.jsonl`.

    Raises UnavailableError when the model fails; what was finished before stays.
    """
    known = {(row["task"], row["selector"]) for row in done}
    model = Model(campaign.endpoint)
    try:
        for task in campaign.tasks:
            for name in campaign.selectors:
                if (task, name) in known:
                    continue
                selector = make_selector(name, campaign.settings)
                try:
                    label = f"{campaign.benchmark.name}/{task}/{name}"
                    found = run_task(campaign.benchmark, task, selector, model, label, campaign.embedder)
                finally:
                    selector.close()
                row: Row = {
                    "task": task,
                    "selector": name,
                    "score": found.score,
                    "turns": found.turns,
                    "largest": found.largest,
                    "over_budget": found.over_budget,
                    "usage": asdict(found.usage),
                    "management": asdict(found.management),
                }
                with (folder / TRACES).open("a", encoding="utf-8") as traces:
                    line = {"id": f"{task}/{name}", "messages": found.messages}
                    traces.write(json.dumps(line, ensure_ascii=False) + "\n")
                with (folder / RUNS).open("a", encoding="utf-8") as runs:
                    runs.write(json.dumps(row) + "\n")
                yield row
    finally:
        model.close()


def summarise(rows: Sequence[Row], budget: int) -> dict[str, Row]:
    """By selector: mean score over all tasks, and cost on the tasks whose full history passes B (App. C.1, Eq. 9).

    ρ is full history's cache fraction on these tasks; without full history among the runs, costs are None.
    """
    by_selector: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_selector.setdefault(row["selector"], {})[row["task"]] = row
    reference = by_selector.get(REFERENCE, {})
    biting = [task for task, row in reference.items() if row["largest"] > budget]
    whole = _total(reference, biting)
    summary = {}
    for name, runs in by_selector.items():
        shared = [task for task in biting if task in runs]
        used = _total(runs, shared)
        complete = bool(biting) and len(shared) == len(biting)
        summary[name] = {
            "tasks": len(runs),
            "score": 100 * sum(row["score"] for row in runs.values()) / len(runs),
            "turns": sum(row["turns"] for row in runs.values()),
            "over_budget": sum(row["over_budget"] for row in runs.values()),
            "cost_tasks": len(shared),
            "prompt_tokens": used.prompt,
            "cached_tokens": used.cached,
            "output_tokens": used.output,
            "embedding_tokens": used.embedding,
            "vs_full_fixed_rate": used.usd_fixed_rate(whole.cache_rate) / whole.usd_fixed_rate(whole.cache_rate)
            if complete
            else None,
            "vs_full_real_cache": used.usd_real_cache() / whole.usd_real_cache() if complete else None,
        }
    return summary


def _total(runs: Mapping[str, Row], tasks: Sequence[str]) -> Usage:
    total = Usage()
    for task in tasks:
        for part in ("usage", "management"):
            total += Usage(**runs[task][part])
    return total
