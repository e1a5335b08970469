"""Agent frameworks through the proxy: LangChain, pydantic-ai, OpenHands."""

from pathlib import Path

import pytest

from tests.clients import work
from tests.clients.harness import BUDGET, Bench
from tests.clients.install import program
from tests.clients.model import Use
from tests.clients.rules import assert_kept_to_the_rules, assert_one_session, new_prefixes, records_seen

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.more_clients]
AGENTS = Path(__file__).parent / "agents"


def shell(command: str) -> Use:
    return Use("shell", {"command": command})


def terminal(command: str) -> Use:
    return Use("terminal", {"command": command})


RUNS = {
    "langchain": ("langchain", "langchain_agent.py", ("whole",)),
    "langchain, streamed": ("langchain", "langchain_agent.py", ("stream",)),
    "pydantic-ai, chat": ("pydantic-ai", "pydantic_agent.py", ("chat",)),
    "pydantic-ai, responses": ("pydantic-ai", "pydantic_agent.py", ("responses",)),
    "pydantic-ai, messages": ("pydantic-ai", "pydantic_agent.py", ("messages",)),
    "openhands": ("openhands", "openhands_agent.py", ()),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_longer_than_the_budget(tmp_path: Path, name: str) -> None:
    environment, agent, options = RUNS[name]
    workspace = work.make_workspace(tmp_path / "work")
    tool = terminal if name == "openhands" else shell
    with Bench(tmp_path, {work.KEY: work.script(tool)}) as bench:
        where = (str(workspace),) if name == "openhands" else ()
        env = {"OPENHANDS_SUPPRESS_BANNER": "1"}
        argv = [program(environment), AGENTS / agent, *options, bench.url, *where, work.TASK]
        done = bench.run(argv, env, workspace)
        turns = bench.turns(work.KEY)
        assert done.out.strip().endswith(work.FINAL)
        assert (workspace / "refund.txt").read_text() == f"refunded {work.order_of(work.OLD)}\n"
        assert len(turns) == work.RECORDS + 3
        assert_kept_to_the_rules(turns, BUDGET)
        assert_one_session(turns[1:])  # the first may have no answer yet to be told by
        seen = records_seen(turns)
        assert seen.omitted
        assert work.OLD in seen.got[-1], "the record that was just used is back"
        assert new_prefixes(turns) <= len(turns) // 2
