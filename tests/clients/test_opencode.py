"""opencode through the proxy."""

from pathlib import Path

import pytest

from tests.clients import work
from tests.clients.harness import BUDGET, Bench
from tests.clients.model import Step, Use
from tests.clients.programs import OpenCode
from tests.clients.rules import assert_kept_to_the_rules, assert_one_session, new_prefixes, records_seen

pytestmark = [pytest.mark.clients, pytest.mark.slow]
shell = OpenCode.shell


def test_a_run_longer_than_the_budget(tmp_path: Path) -> None:
    workspace = work.make_workspace(tmp_path / "work")
    with Bench(tmp_path, {work.KEY: work.script(shell)}) as bench:
        opencode = OpenCode(bench, workspace)
        done = opencode.run(work.TASK)
        turns = bench.turns(work.KEY)
        assert [line["part"]["text"] for line in done.lines if line["type"] == "text"][-1] == work.FINAL
        assert (workspace / "refund.txt").read_text() == f"refunded {work.order_of(work.OLD)}\n"
        assert len(turns) == work.RECORDS + 3
        assert_kept_to_the_rules(turns, BUDGET)
        assert_one_session(turns)
        seen = records_seen(turns)
        assert seen.omitted
        assert work.OLD in seen.got[-1], "the record that was just used is back"
        assert new_prefixes(turns) <= len(turns) // 2
        assert work.marks(opencode.stored(done.lines[0]["sessionID"])) == set(range(1, work.RECORDS + 1))


def test_a_resumed_session_with_a_subagent_and_a_compaction_of_its_own(tmp_path: Path) -> None:
    subtask = Use("task", {"description": "sub", "prompt": "SUBTASK-3: read them", "subagent_type": "general"})
    steps = [
        *(work.read_record(shell, number) for number in range(1, 5)),
        Step("", (subtask,)),
        *(work.read_record(shell, number) for number in range(5, 8)),
        Step("The first half is done."),
        work.read_record(shell, 8),
        Step("", (shell("cat records/09.txt"),), tokens=127_000),  # makes opencode compact
        *(work.read_record(shell, number) for number in range(10, 14)),
        Step(work.FINAL),
    ]
    sub = [*(work.read_record(shell, number) for number in range(1, 7)), Step("The subagent is done.")]
    workspace = work.make_workspace(tmp_path / "work")
    scripts = {work.KEY: steps, "SUBTASK-3": sub}
    with Bench(tmp_path, scripts, asides=f"A summary of {work.KEY}: half of it is done.") as bench:
        opencode = OpenCode(bench, workspace)
        opencode.run(work.TASK)
        done = opencode.run("Now the second half.", "--continue")
        assert [line["part"]["text"] for line in done.lines if line["type"] == "text"][-1] == work.FINAL
        main, aside = bench.turns(work.KEY), bench.turns("SUBTASK-3")
        assert (len(main), len(aside)) == (len(steps), len(sub))
        assert_kept_to_the_rules(main, BUDGET)
        assert_kept_to_the_rules(aside, BUDGET)
        assert_one_session(main)
        assert_one_session(aside)
        assert records_seen(main).omitted
        assert records_seen(aside).omitted
        titles_and_summaries = bench.asides_sent
        assert len(titles_and_summaries) >= 2
        assert all(turn.got.raw == turn.sent.raw for turn in titles_and_summaries)
