"""The replay of a trace: what every selector sees before each recorded call, and what is counted."""

from typing import Any

import pytest

from contextrender.cli import main
from contextrender.evaluation import replay
from contextrender.evaluation.replay import Task, replay_all, replay_trace
from contextrender.evaluation.report import summarise
from contextrender.evaluation.traces import Trace
from tests.core.conversations import assistant, step, user

LOOP: list[dict[str, Any]] = [user("task"), *[assistant("go"), user("continue")] * 3, assistant("go")]
RUN: list[dict[str, Any]] = [user("task"), *step("a", "order_17 " + "x " * 60), *step("b", "y"), assistant("order_17")]


def task(messages: list[dict[str, Any]], budget: int = 60, check: bool = False) -> Task:
    return Task(Trace("one", messages), ("full", "rec"), budget, "hash", check, decisions=True)


def test_an_exchange_that_repeats_word_for_word_is_not_dropped() -> None:
    outcome = replay_trace(task(LOOP, check=True)).selectors["full"]
    tokens = [decision["tokens"] for decision in outcome.decisions]
    assert tokens == [0, 10, 20, 30]  # 4 + tok(text) each; the last user message is outside the budget
    assert outcome.illegal == []


def test_prompt_cache_and_output_of_full_history_by_hand() -> None:
    usage = replay_trace(task(LOOP)).selectors["full"].usage
    assert usage.prompt == 5 + 15 + 25 + 35
    assert usage.cached == 0 + 5 + 15 + 25
    assert usage.output == 4 * 5


def test_a_turn_labels_only_what_was_decided_before_it() -> None:
    outcome = replay_trace(task(RUN))
    assert outcome.events == {"<=3": 1}
    assert [decision["kept"] for decision in outcome.selectors["full"].decisions] == [[], [2], [2, 4]]
    assert [decision["kept"] for decision in outcome.selectors["rec"].decisions][-1] == [4]
    assert (outcome.selectors["full"].hits.total(), outcome.selectors["rec"].hits.total()) == (1, 0)


def test_cost_counts_only_traces_whose_history_exceeds_the_budget() -> None:
    summary = summarise([replay_trace(task(RUN)), replay_trace(task(LOOP))], ("full", "rec"))
    assert summary["rec"]["cost"]["traces"] == 1
    assert summary["full"]["cost"]["vs_full_fixed_rate"] == 1
    assert summary["full"]["cost"]["usd_fixed_rate"] == pytest.approx(summary["full"]["cost"]["usd_real_cache"])
    assert summary["rec"]["cost"]["vs_full_fixed_rate"] < 1


def test_processes_change_nothing() -> None:
    tasks = [task(RUN), task(LOOP), task(RUN, budget=500)]
    assert list(replay_all(tasks, 2)) == list(replay_all(tasks, 1))


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
