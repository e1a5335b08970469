"""Records the scripted agent's runs: `python -m contextrender.world.record --out DIR`.

Writes `roommates.jsonl` (the paper's Figure 2) and `world.jsonl` (all tasks), one run a line in the form of the
recorded traces: {"id", "source", "model", "messages"}. The same seed gives the same bytes.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from contextrender.world.agent import Run, run
from contextrender.world.tasks import DEFAULT_SEED, Task, all_tasks

MODEL = "scripted-agent"
SOURCE = "contextrender-world"


def record(task: Task, done: Run) -> str:
    """One run as a line of JSON, without the newline."""
    trace = {
        "id": f"world/{task.task_id}/seed{task.seed}",
        "source": SOURCE,
        "model": MODEL,
        "reward": 0.0 if done.goal_unmet else 1.0,
        "messages": done.messages,
    }
    return json.dumps(trace, ensure_ascii=False)


def record_all(out: Path, seed: int = DEFAULT_SEED) -> dict[str, Run]:
    """Runs every task with its full history, writes both files into `out`, and returns the runs by task."""
    runs = {task.task_id: (task, run(task)) for task in all_tasks(seed)}
    lines = {task_id: record(task, done) + "\n" for task_id, (task, done) in runs.items()}
    out.mkdir(parents=True, exist_ok=True)
    (out / "roommates.jsonl").write_text(lines["roommates"], encoding="utf-8")
    (out / "world.jsonl").write_text("".join(lines.values()), encoding="utf-8")
    return {task_id: done for task_id, (_, done) in runs.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; exit code 1 where a goal was not reached."""
    parser = argparse.ArgumentParser(prog="contextrender.world.record", description="Record the app world's runs.")
    parser.add_argument("--out", type=Path, required=True, help="folder for roommates.jsonl and world.jsonl")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="seed of the world (default %(default)s)")
    options = parser.parse_args(arguments)
    failed = 0
    for task_id, done in record_all(options.out, options.seed).items():
        failed += bool(done.goal_unmet)
        state = "goal reached" if not done.goal_unmet else f"NOT reached: {'; '.join(done.goal_unmet)}"
        print(f"{task_id:<14} {done.turns:>3} turns  {len(done.messages):>3} messages  {state}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
