"""mini-swe-agent through the proxy."""

from pathlib import Path

import pytest

from tests.clients import work
from tests.clients.harness import Bench
from tests.clients.model import Step
from tests.clients.programs import MiniSweAgent
from tests.clients.rules import assert_kept_to_the_rules, assert_one_session, new_prefixes, records_seen

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.more_clients]
shell = MiniSweAgent.shell
BUDGET = 4_500
"""A third of it goes to the instructions in mini-swe-agent's first user message."""


def test_a_run_longer_than_the_budget(tmp_path: Path) -> None:
    workspace = work.make_workspace(tmp_path / "work")
    steps = [*work.script(shell)[:-1], Step(work.FINAL, (shell(MiniSweAgent.END),))]
    with Bench(tmp_path, {work.KEY: steps}, BUDGET) as bench:
        agent = MiniSweAgent(bench, workspace)
        agent.run(work.TASK)
        turns = bench.turns(work.KEY)
        assert (workspace / "refund.txt").read_text() == f"refunded {work.order_of(work.OLD)}\n"
        assert len(turns) == len(steps)
        assert_kept_to_the_rules(turns, BUDGET)
        assert_one_session(turns[1:])  # the first may have no answer yet to be told by
        seen = records_seen(turns)
        assert seen.omitted
        assert work.OLD in seen.got[-1], "the record that was just used is back"
        assert new_prefixes(turns) <= len(turns) // 2
        assert work.marks(agent.trajectory.read_text()) == set(range(1, work.RECORDS + 1))
