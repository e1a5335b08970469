"""`contextrender eval` and `replay` as a user runs them: real files, real processes, clear errors."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.core.conversations import assistant, step, user

CLI = str(Path(sys.executable).with_name("contextrender"))
MESSAGES = [user("task"), *step("a", "order_17 " + "filler " * 60), *step("b", "x " * 60), assistant("order_17")]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([CLI, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    path = tmp_path / "runs.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.write(json.dumps({"id": "one", "messages": MESSAGES}) + "\n")
        file.write(
            json.dumps([*MESSAGES[:-1], {"role": "assistant", "content": [{"type": "text", "text": "done"}]}]) + "\n"
        )
    return path


def test_eval_writes_the_documented_json_and_a_decision_a_render(runs: Path, tmp_path: Path) -> None:
    done = run(
        "eval", runs, "--budget", "150", "--selectors", "full,rec,default", "--embedder", "hash", "--check",
        "--json", tmp_path / "out.json", "--decisions", tmp_path / "d.jsonl",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    out = json.loads((tmp_path / "out.json").read_text())
    assert (out["budget"], out["embedder"], list(out["files"])) == (150, "hash", ["runs.jsonl.gz"])
    rows: dict[str, Any] = out["files"]["runs.jsonl.gz"]
    assert list(rows) == ["full", "rec", "default"]
    assert rows["full"]["recall"] == 100
    assert rows["full"]["events"] == 1
    assert set(rows["rec"]) >= {"events", "hits", "recall", "by_age", "over_budget", "cost"}
    assert set(rows["rec"]["cost"]) >= {
        "traces", "recall", "prompt_tokens", "cached_tokens", "output_tokens", "usd_fixed_rate", "usd_real_cache",
        "vs_full_fixed_rate", "vs_full_real_cache", "embedding_tokens", "management",
    }  # fmt: skip
    assert rows["full"]["cost"]["vs_full_real_cache"] == 1
    decisions = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()]
    assert len(decisions) == 2 * 3 * 3
    last = next(d for d in decisions if (d["trace"], d["turn"], d["selector"]) == ("one", 3, "full"))
    assert last["kept"] == [2, 4]
    assert last["tokens"] > 150


def test_replay_shows_a_run_turn_by_turn(runs: Path) -> None:
    done = run("replay", runs, "--trace", "one", "--budget", "150", "--policy", "rec", "--embedder", "hash")
    assert done.returncode == 0, done.stderr
    assert "history tokens over the run" in done.stdout


def test_replay_of_an_unknown_trace_lists_what_there_is(runs: Path) -> None:
    done = run("replay", runs, "--trace", "nope")
    assert (done.returncode, "one" in done.stderr) == (2, True)


def test_a_report_is_a_folder_of_markdown_figures_and_json(runs: Path, tmp_path: Path) -> None:
    done = run(
        "eval", runs, "--budgets", "60,150", "--budget", "150", "--selectors", "rec,paper,default",
        "--embedder", "hash", "--report", tmp_path / "report", "--chart", tmp_path / "c.svg", "--worlds", "1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "report").iterdir()) == [
        "frontier.png", "frontier.svg", "report.md", "results.json",
    ]  # fmt: skip
    text = (tmp_path / "report" / "report.md").read_text()
    for title in ("Ablation", "Recall at real cost, by budget", "cost of the", "Closed loop", "reuse events"):
        assert title in text
    result = json.loads((tmp_path / "report" / "results.json").read_text())
    assert list(result["sweep"]) == ["60", "150"]
    assert result["sweep"]["150"] == result["files"]
    assert [row["budget"] for row in result["frontier"]["rec"]] == [60, 150]
    assert {row["tasks"] for row in result["closed_loop"]} == {8}
    assert (tmp_path / "c.svg").read_text().lstrip().startswith("<?xml")


def test_an_evaluation_that_stopped_is_resumed_without_doing_anything_twice(runs: Path, tmp_path: Path) -> None:
    options = ["eval", runs, "--budget", "150", "--embedder", "hash", "--json", tmp_path / "o.json", "--jobs", "1"]
    code = """
import sys
from contextrender.baselines import registry
from contextrender.baselines.registry import PolicySelector, policy_by_name
from contextrender.cli import main
from contextrender.errors import UnavailableError
def make(settings):
    if sys.argv.pop(1) == "dead":
        raise_in = lambda *a: (_ for _ in ()).throw(UnavailableError("the summarizer does not answer"))
        made = PolicySelector(policy_by_name("rec"), settings.budget)
        made.decide = raise_in
        return made
    return PolicySelector(policy_by_name("rec"), settings.budget)
mode, seen = sys.argv.pop(1), []
def selector(settings):
    sys.argv.insert(1, mode)
    return make(settings)
registry._BASELINES["summary"] = selector
from contextrender.evaluation import replay
inner = replay.replay_trace
def counted(task):
    print("replayed", [name for name, _ in task.cases], file=sys.stderr)
    return inner(task)
from contextrender.evaluation import pool
pool.replay_trace = counted
main()
"""

    def started(mode: str, *more: str | Path) -> subprocess.CompletedProcess[str]:
        arguments = [
            sys.executable,
            "-c",
            code,
            mode,
            *map(str, options),
            "--selectors",
            "rec,summary",
            *map(str, more),
        ]
        return subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)

    first = started("dead")
    assert first.returncode == 1
    assert "2 runs of selectors failed" in first.stderr
    found = json.loads((tmp_path / "o.json").read_text())["files"]["runs.jsonl.gz"]
    assert found["rec"]["recall"] is not None
    assert found["summary"]["incomplete"]["reason"].endswith("the summarizer does not answer")
    assert (tmp_path / "o.json.partial").exists()
    second = started("well", "--resume")
    assert second.returncode == 0, second.stderr
    assert second.stderr.count("replayed ['summary']") == 2
    now = json.loads((tmp_path / "o.json").read_text())["files"]["runs.jsonl.gz"]
    assert now["summary"] == now["rec"] == found["rec"]
    assert not (tmp_path / "o.json.partial").exists()


def test_resume_without_anything_to_resume_is_refused(runs: Path, tmp_path: Path) -> None:
    assert "--resume needs" in run("eval", runs, "--resume").stderr
    nothing = run("eval", runs, "--json", tmp_path / "o.json", "--resume", "--embedder", "hash")
    assert (nothing.returncode, "nothing to resume" in nothing.stderr) == (2, True)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{nope", "not JSON"),
        ('{"id": 3}', "without messages"),
        ('{"messages": []}', "no messages"),
        ('{"messages": [{"role": "robot"}]}', "messages[0].role"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_bad_line_names_file_line_and_reason_and_keep_going_goes_on(
    tmp_path: Path, line: str, complaint: str
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(MESSAGES) + "\n" + line + "\n" + json.dumps(MESSAGES) + "\n")
    stopped = run("eval", path, "--selectors", "rec", "--embedder", "hash")
    assert stopped.returncode == 2
    assert f"{path}:2" in stopped.stderr.replace("\n", "")
    assert complaint in stopped.stderr
    assert "Traceback" not in stopped.stderr
    went_on = run("eval", path, "--selectors", "rec", "--embedder", "hash", "--keep-going")
    assert went_on.returncode == 0
    assert "2 reuse events" in went_on.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--selectors", "nope"),
        ("--selectors", ","),
        ("--embedder", "nope"),
        ("--budget", "0"),
        ("--budgets", "2000,x"),
        ("--chart", "a.pdf"),
        ("--nope",),
    ],
)
def test_bad_options_are_refused_in_a_line(runs: Path, arguments: tuple[str, ...]) -> None:
    done = run("eval", runs, *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()


def test_files_that_are_not_what_their_names_say_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_text("plain")
    done = run("eval", path)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "cannot be read" in done.stderr


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; sys.argv = ['x', '--help']\nfrom contextrender.cli import group\n"
    code += "group(standalone_mode=False)\nprint(sorted({'numpy', 'jaclang', 'tiktoken', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip().endswith("[]")
    assert "replay" in done.stdout
