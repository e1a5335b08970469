"""Claude Code through the proxy."""

from pathlib import Path

import pytest

from tests.clients import work
from tests.clients.harness import BUDGET, Bench
from tests.clients.model import Step, Use
from tests.clients.programs import ClaudeCode
from tests.clients.rules import assert_kept_to_the_rules, assert_one_session, new_prefixes, records_seen

pytestmark = [pytest.mark.clients, pytest.mark.slow]
shell = ClaudeCode.shell
SESSION = "11111111-2222-4333-8444-555555555555"
REMINDERS = 1_500
"""Tokens of reminders that Claude Code puts into its first message, which holds the task and is never dropped."""


def test_a_run_longer_than_the_budget(tmp_path: Path) -> None:
    workspace = work.make_workspace(tmp_path / "work")
    with Bench(tmp_path, {work.KEY: work.script(shell)}) as bench:
        claude = ClaudeCode(bench, workspace)
        done = claude.run(work.TASK)
        turns = bench.turns(work.KEY)
        assert done.lines[-1]["result"] == work.FINAL
        assert (workspace / "refund.txt").read_text() == f"refunded {work.order_of(work.OLD)}\n"
        assert len(turns) == work.RECORDS + 3
        assert_kept_to_the_rules(turns, BUDGET, beyond=REMINDERS)
        assert_one_session(turns)
        seen = records_seen(turns)
        assert seen.omitted
        assert work.OLD in seen.got[-1], "the record that was just used is back"
        assert new_prefixes(turns) <= len(turns) // 2
        assert work.marks(claude.stored()) == set(range(1, work.RECORDS + 1))


def test_a_resumed_session_with_a_subagent_and_a_compaction_of_its_own(tmp_path: Path) -> None:
    subtask = {"description": "sub", "prompt": "SUBTASK-3: read them", "subagent_type": "general-purpose"}
    steps = [
        *(work.read_record(shell, number) for number in range(1, 5)),
        Step("", (Use("Agent", subtask | {"run_in_background": False}),)),
        *(work.read_record(shell, number) for number in range(5, 8)),
        Step("The first half is done."),
        work.read_record(shell, 8),
        Step("The second part is done."),
        Step(f"<analysis>Nothing.</analysis><summary>{work.KEY} is half done.</summary>"),
        *(work.read_record(shell, number) for number in range(9, 14)),
        Step(work.FINAL),
    ]
    sub = [*(work.read_record(shell, number) for number in range(1, 7)), Step("The subagent is done.")]
    workspace = work.make_workspace(tmp_path / "work")
    with Bench(tmp_path, {work.KEY: steps, "SUBTASK-3": sub}) as bench:
        claude = ClaudeCode(bench, workspace)
        claude.run(work.TASK, "--session-id", SESSION)
        claude.run("Now one more.", "--resume", SESSION)
        claude.run("/compact", "--resume", SESSION)
        done = claude.run("Now the rest.", "--resume", SESSION)
        assert done.lines[-1]["result"] == work.FINAL
        main, aside = bench.turns(work.KEY), bench.turns("SUBTASK-3")
        assert (len(main), len(aside)) == (len(steps), len(sub))
        assert_kept_to_the_rules(main, BUDGET, beyond=REMINDERS)
        assert_kept_to_the_rules(aside, BUDGET, beyond=REMINDERS)
        assert_one_session(main)
        assert_one_session(aside)
        assert records_seen(main).omitted
        assert records_seen(aside).omitted
