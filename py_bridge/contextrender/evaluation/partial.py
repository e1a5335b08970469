"""Results of an evaluation that has not ended: a line of JSON for each trace, selector and budget, as they are done."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import IO, Any

from contextrender import __version__
from contextrender.baselines.registry import Settings, label
from contextrender.errors import InputError
from contextrender.evaluation.cost import Usage
from contextrender.evaluation.replay import Case, Outcome, Task, TraceOutcome


def task_key(task: Task) -> str:
    """What an outcome depends on besides its case."""
    what = [task.trace.name, task.trace.messages, task.embedder, task.check, task.decisions, task.sweep, __version__]
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:24]


class Partial:
    """The file of partial results. Open it once for a whole evaluation.

    resume: take over what the file holds; otherwise it is begun anew. A last line that was cut off is left out.
    """

    def __init__(self, path: Path, resume: bool) -> None:
        self.path = path
        self._known: dict[tuple[str, str, int], dict[str, Any]] = {}
        if resume:
            self._known = {(row["key"], row["label"], row["budget"]): row for row in self._rows()}
        self._file: IO[str] = path.open("w", encoding="utf-8")
        for row in self._known.values():
            self._write(row)

    def _rows(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            raise InputError(f"there is nothing to resume: {self.path} does not exist", "--resume")
        with self.path.open(encoding="utf-8") as lines:
            for line in lines:
                if not line.endswith("\n"):
                    return
                yield json.loads(line)

    def _write(self, row: dict[str, Any]) -> None:
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()

    def known(self, task: Task) -> tuple[Task, TraceOutcome | None]:
        """The task with only the cases that are not done yet, and the outcome of the others (None: none is)."""
        key = task_key(task)
        rows = {case: self._known.get((key, _label(case), case[1])) for case in task.cases}
        done = {case: row for case, row in rows.items() if row is not None}
        if not done:
            return task, None
        first = next(iter(done.values()))
        outcome = TraceOutcome(
            Counter(first["events"]), first["tokens"], {case: _outcome(row["outcome"]) for case, row in done.items()}
        )
        return replace(task, cases=tuple(case for case in task.cases if case not in done)), outcome

    def add(self, file: str, task: Task, outcome: TraceOutcome) -> None:
        """Keep what was done; a case that failed is tried again at the next run."""
        key = task_key(task)
        for case, done in outcome.cases.items():
            if not done.failed:
                row = {"key": key, "file": file, "trace": task.trace.name, "label": _label(case), "budget": case[1]}
                row |= {"events": outcome.events, "tokens": outcome.tokens, "outcome": _row(done)}
                self._write(row)

    def close(self, complete: bool) -> None:
        """The evaluation is over; the file goes when nothing is left to resume."""
        self._file.close()
        if complete:
            self.path.unlink(missing_ok=True)


def _label(case: Case) -> str:
    return label(case[0], Settings(case[1]))


def _row(outcome: Outcome) -> dict[str, Any]:
    return {one.name: getattr(outcome, one.name) for one in fields(outcome)} | {
        "management": asdict(outcome.management)
    }


def _outcome(row: dict[str, Any]) -> Outcome:
    values = row | {
        "hits": Counter(row["hits"]),
        "calls": [(prompt, cached) for prompt, cached in row["calls"]],
        "management": Usage(**row["management"]),
    }
    return Outcome(**values)
