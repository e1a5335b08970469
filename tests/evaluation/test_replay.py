"""The replay of a trace: what every selector sees before each recorded call, and what is counted."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from contextrender.baselines import registry
from contextrender.baselines.policies import PolicySelector
from contextrender.cli import main
from contextrender.evaluation import replay
from contextrender.evaluation.pool import replay_all
from contextrender.evaluation.replay import Task, replay_trace, with_reference
from contextrender.evaluation.summary import summarise
from contextrender.evaluation.traces import Trace
from contextrender.policy import policy_by_name
from contextrender.session import Plan, Session
from tests.core.conversations import assistant, step, user

LOOP: list[dict[str, Any]] = [user("task"), *[assistant("go"), user("continue")] * 3, assistant("go")]
RUN: list[dict[str, Any]] = [user("task"), *step("a", "order_17 " + "x " * 60), *step("b", "y"), assistant("order_17")]


def task(messages: list[dict[str, Any]], budget: int = 60, check: bool = False) -> Task:
    return Task(Trace("one", messages), with_reference(("full", "rec"), (budget,)), "hash", check, decisions=True)


def test_an_exchange_that_repeats_word_for_word_is_not_dropped() -> None:
    outcome = replay_trace(task(LOOP, check=True)).cases["full", 60]
    tokens = [decision["tokens"] for decision in outcome.decisions]
    assert tokens == [0, 10, 20, 30]  # 4 + tok(text) each; the last user message is outside the budget
    assert outcome.illegal == []


def test_prompt_cache_and_output_of_full_history_by_hand() -> None:
    usage = replay_trace(task(LOOP)).cases["full", 60].usage
    assert usage.prompt == 5 + 15 + 25 + 35
    assert usage.cached == 0 + 5 + 15 + 25
    assert usage.output == 4 * 5


def test_a_turn_labels_only_what_was_decided_before_it() -> None:
    outcome = replay_trace(task(RUN))
    assert outcome.events == {"<=3": 1}
    assert [decision["kept"] for decision in outcome.cases["full", 60].decisions] == [[], [2], [2, 4]]
    assert [decision["kept"] for decision in outcome.cases["rec", 60].decisions][-1] == [4]
    assert (outcome.cases["full", 60].hits.total(), outcome.cases["rec", 60].hits.total()) == (1, 0)


def test_cost_counts_only_traces_whose_history_exceeds_the_budget() -> None:
    summary = summarise([replay_trace(task(RUN)), replay_trace(task(LOOP))], ("full", "rec"), 60)
    assert summary["rec"]["cost"]["traces"] == 1
    assert summary["full"]["cost"]["vs_full_fixed_rate"] == 1
    assert summary["full"]["cost"]["usd_fixed_rate"] == pytest.approx(summary["full"]["cost"]["usd_real_cache"])
    assert summary["rec"]["cost"]["vs_full_fixed_rate"] < 1


def test_processes_change_nothing() -> None:
    tasks = [task(RUN), task(LOOP), task(RUN, budget=500)]
    assert dict(replay_all(tasks, 2)) == dict(replay_all(tasks, 1))


def test_a_sweep_gives_what_each_budget_gives_alone() -> None:
    budgets = (60, 90, 500)
    swept = replay_trace(Task(Trace("one", RUN), with_reference(("rec", "default"), budgets), "hash"))
    for budget in budgets:
        alone = replay_trace(Task(Trace("one", RUN), with_reference(("rec", "default"), (budget,)), "hash"))
        for case, outcome in alone.cases.items():
            assert swept.cases[case] == outcome


def test_a_selector_that_fails_leaves_the_others_their_results(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dead(PolicySelector):
        def decide(self, session: Session, coming: Mapping[int, float]) -> Plan:
            if session.history.turn == 1:
                raise ConnectionError("key sk-secret was refused")
            return super().decide(session, coming)

    monkeypatch.setitem(registry._BASELINES, "dead", lambda settings: Dead(policy_by_name("rec"), settings.budget))
    tasks = [Task(Trace(str(n), RUN), with_reference(("dead", "rec"), (60,)), "hash") for n in range(4)]
    done = dict(replay_all(tasks))
    assert [one.cases["rec", 60].failed for one in done.values()] == [""] * 4
    failures = [one.cases["dead", 60].failed for one in done.values()]
    assert failures[0].startswith("turn 2: ConnectionError in test_replay.py")
    assert "secret" not in " ".join(failures)
    assert failures[2:] == ["not asked: it failed on other runs"] * 2
    row = summarise(list(done.values()), ("dead", "rec"), 60)["dead"]
    assert row["incomplete"]["traces"] == 0
    assert row["recall"] is None


def test_a_worker_that_dies_is_a_clear_error() -> None:
    code = """
import os, sys
from contextrender.baselines import registry
from contextrender.cli import main
registry._BASELINES["killer"] = lambda settings: os._exit(9)
main()
"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.jsonl"
        path.write_text("".join(json.dumps(RUN) + "\n" for _ in range(4)))
        options = ["eval", str(path), "--selectors", "rec,killer", "--embedder", "hash", "--jobs", "2"]
        command = [sys.executable, "-c", code, *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert "a worker process died" in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr


def test_check_exits_1_on_an_illegal_render(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"role": "user", "content": "task"}, {"role": "assistant", "content": "done"}]')
    monkeypatch.setattr(replay, "violations", lambda original, rendered, liberties: ["made up"])
    options = ["--selectors", "rec", "--embedder", "hash", "--jobs", "1", "--check"]
    monkeypatch.setattr("sys.argv", ["contextrender", "eval", str(path), *options])
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code == 1
    assert "made up" in capsys.readouterr().err


def test_an_output_folder_that_is_not_there_is_refused_before_the_replay(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"role": "user", "content": "task"}]')
    monkeypatch.setattr("sys.argv", ["contextrender", "eval", str(path), "--json", str(tmp_path / "no" / "out.json")])
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code == 2
    assert "does not exist" in capsys.readouterr().err
