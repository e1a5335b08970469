"""Codex through the proxy."""

from pathlib import Path

import pytest

from tests.clients import work
from tests.clients.harness import BUDGET, Bench
from tests.clients.model import Step
from tests.clients.programs import Codex
from tests.clients.rules import assert_kept_to_the_rules, assert_one_session, new_prefixes, records_seen

pytestmark = [pytest.mark.clients, pytest.mark.slow]
shell = Codex.shell


def test_a_run_longer_than_the_budget(tmp_path: Path) -> None:
    workspace = work.make_workspace(tmp_path / "work")
    with Bench(tmp_path, {work.KEY: work.script(shell)}) as bench:
        codex = Codex(bench, workspace)
        done = codex.run(work.TASK)
        turns = bench.turns(work.KEY)
        said = [line["item"] for line in done.lines if line["type"] == "item.completed"]
        assert said[-1]["text"] == work.FINAL
        assert (workspace / "refund.txt").read_text() == f"refunded {work.order_of(work.OLD)}\n"
        assert len(turns) == work.RECORDS + 3
        assert_kept_to_the_rules(turns, BUDGET)
        assert_one_session(turns)
        seen = records_seen(turns)
        assert seen.omitted
        assert work.OLD in seen.got[-1], "the record that was just used is back"
        assert new_prefixes(turns) <= len(turns) // 2
        assert work.marks(codex.stored()) == set(range(1, work.RECORDS + 1))


def test_a_resumed_session_with_a_compaction_of_its_own(tmp_path: Path) -> None:
    steps = [
        *(work.read_record(shell, number) for number in range(1, 7)),
        Step("The first half is done."),
        work.read_record(shell, 7),
        Step("", (shell("cat records/08.txt"),), tokens=300_000),  # makes Codex compact
        *(work.read_record(shell, number) for number in range(9, 14)),
        Step(work.FINAL),
    ]
    workspace = work.make_workspace(tmp_path / "work")
    limits = ["model_auto_compact_token_limit = 100000", "model_context_window = 400000"]
    with Bench(tmp_path, {work.KEY: steps}, asides=f"A summary of {work.KEY}: half of it is done.") as bench:
        codex = Codex(bench, workspace, limits)
        codex.run(work.TASK)
        done = codex.run("Now the second half.", "resume", "--last")
        said = [line["item"] for line in done.lines if line["type"] == "item.completed"]
        assert said[-1]["text"] == work.FINAL
        turns = bench.turns(work.KEY)
        assert len(turns) == len(steps)
        assert_kept_to_the_rules(turns, BUDGET)
        assert_one_session(turns)
        assert records_seen(turns).omitted
        compactions = bench.asides_sent
        assert len(compactions) == 1
        assert compactions[0].got.raw == compactions[0].sent.raw
