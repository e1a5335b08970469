"""OpenClaw through the proxy."""

from pathlib import Path

import pytest

from tests.clients import work
from tests.clients.harness import BUDGET, Bench
from tests.clients.programs import OpenClaw
from tests.clients.rules import assert_kept_to_the_rules, assert_one_session, new_prefixes, records_seen

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.more_clients]
shell = OpenClaw.shell


def test_a_run_longer_than_the_budget(tmp_path: Path) -> None:
    workspace = work.make_workspace(tmp_path / "work")
    with Bench(tmp_path, {work.KEY: work.script(shell)}) as bench:
        done = OpenClaw(bench, workspace).run(work.TASK)
        turns = bench.turns(work.KEY)
        assert work.FINAL in done.out
        assert (workspace / "refund.txt").read_text() == f"refunded {work.order_of(work.OLD)}\n"
        assert len(turns) == work.RECORDS + 3
        assert_kept_to_the_rules(turns, BUDGET)
        assert_one_session(turns[1:])  # the first may have no answer yet to be told by
        seen = records_seen(turns)
        assert seen.omitted
        assert work.OLD in seen.got[-1], "the record that was just used is back"
        assert new_prefixes(turns) <= len(turns) // 2
