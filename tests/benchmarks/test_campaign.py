"""Campaigns over real HTTP against the scripted model: scores, resumption, and models that fail."""

import json
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from contextrender.baselines.registry import Settings
from contextrender.benchmarks.app_world import AppWorldInSmall
from contextrender.benchmarks.campaign import RUNS, Campaign, prepare, read_rows, run_campaign, summarise
from contextrender.benchmarks.model import Endpoint
from contextrender.benchmarks.questions import EightQuestions
from contextrender.benchmarks.scripted import MODEL, serve
from contextrender.benchmarks.task import Benchmark
from contextrender.errors import InputError, UnavailableError


def campaign(benchmark: Benchmark, url: str, *selectors: str, budget: int = 3000, tasks: int = 1) -> Campaign:
    ids = tuple(benchmark.task_ids()[:tasks])
    return Campaign(benchmark, selectors, Endpoint(MODEL, url, retries=0, timeout=20), Settings(budget), "hash", ids)


def run(wanted: Campaign, folder: Path) -> int:
    return len(list(run_campaign(wanted, folder, prepare(wanted, folder))))


@pytest.mark.parametrize("benchmark", [EightQuestions(), AppWorldInSmall()], ids=["qa", "world"])
def test_with_the_full_history_the_scripted_agent_does_its_task(benchmark: Benchmark, tmp_path: Path) -> None:
    with serve(benchmark) as url:
        run(campaign(benchmark, url, "full"), tmp_path)
    (row,) = read_rows(tmp_path)
    assert row["score"] == 1.0
    assert row["usage"]["prompt"] > row["usage"]["cached"] > 0


def test_an_agent_that_sees_nothing_fails(tmp_path: Path) -> None:
    with serve(AppWorldInSmall()) as url:
        wanted = campaign(AppWorldInSmall(), url, "prune", budget=50)
        run(wanted, tmp_path)
    assert read_rows(tmp_path)[0]["score"] == 0.0


def test_a_campaign_goes_on_where_it_stopped(tmp_path: Path) -> None:
    with serve(EightQuestions()) as url:
        wanted = campaign(EightQuestions(), url, "full", "prune", "paper")
        runs = run_campaign(wanted, tmp_path, prepare(wanted, tmp_path))
        next(runs)
        runs.close()
        with (tmp_path / RUNS).open("a") as file:
            file.write('{"task": "qa-01", "selec')
        assert run(wanted, tmp_path) == 2
        assert run(wanted, tmp_path) == 0
    summary = summarise(read_rows(tmp_path), 3000)
    assert list(summary) == ["full", "prune", "paper"]
    assert summary["full"]["vs_full_real_cache"] == 1.0
    assert summary["paper"]["embedding_tokens"] > 0


def test_another_setting_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    first = campaign(EightQuestions(), "http://127.0.0.1:9/v1", "full")
    prepare(first, tmp_path)
    with pytest.raises(InputError, match="another budget"):
        prepare(replace(first, settings=Settings(10)), tmp_path)


def test_no_key_is_written(tmp_path: Path) -> None:
    with serve(EightQuestions()) as url:
        wanted = campaign(EightQuestions(), url, "full")
        run(replace(wanted, endpoint=replace(wanted.endpoint, api_key="sk-secret-value")), tmp_path)
    assert all("sk-secret-value" not in path.read_text("utf-8") for path in tmp_path.iterdir())


def test_a_model_that_dies_leaves_what_was_done_and_a_clear_error(tmp_path: Path) -> None:
    with serve(EightQuestions()) as url:
        first = campaign(EightQuestions(), url, "full")
        run(first, tmp_path)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        later = campaign(EightQuestions(), dead, "full", "prune")
        with pytest.raises(UnavailableError, match="did not answer"):
            run(later, tmp_path)
    assert [row["selector"] for row in read_rows(tmp_path)] == ["full"]
    assert json.loads((tmp_path / RUNS).read_text())["score"] == 1.0
