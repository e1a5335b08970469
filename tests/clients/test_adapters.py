"""Adapters inside the real programs, which talk to the model directly: no proxy between."""

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.clients import work
from tests.clients.harness import BUDGET, Bench, Turn
from tests.clients.install import program
from tests.clients.model import Step, Use
from tests.clients.programs import Hermes, MiniSweAgent
from tests.clients.rules import assert_within, new_prefixes, records_read

pytestmark = [pytest.mark.clients, pytest.mark.slow]
AGENTS = Path(__file__).parent / "agents"
MORE = pytest.mark.more_clients
Run = Callable[[Bench, Path], str]
"""(bench, workspace) -> what the program keeps of the run, and its answer."""


def agent(environment: str, file: str, *options: str, where: bool = False) -> Run:
    """A program of ours on a framework."""

    def run(bench: Bench, workspace: Path) -> str:
        places = [bench.url, *([str(workspace)] if where else [])]
        argv: list[str | Path] = [program(environment), AGENTS / file, *options, *places, work.TASK]
        env = {"OPENHANDS_SUPPRESS_BANNER": "1", **bench.adapter_env}
        return bench.run(argv, env, workspace).out

    return run


def mini(bench: Bench, workspace: Path) -> str:
    swe = MiniSweAgent(bench, workspace)
    swe.run(work.TASK)
    return swe.trajectory.read_text()


def hermes(bench: Bench, workspace: Path) -> str:
    return Hermes(bench, workspace).run(work.TASK).out


def call(name: str, argument: str = "command") -> Callable[[str], Use]:
    return lambda command: Use(name, {argument: command})


RUNS = {
    "openai": (agent("sdks", "sdks.py", "chat", "whole"), call("shell")),
    "openai, responses, streamed": (agent("sdks", "sdks.py", "responses", "stream"), call("shell")),
    "anthropic": (agent("sdks", "sdks.py", "messages", "whole"), call("shell")),
    "langchain": (agent("langchain", "langchain_agent.py", "whole"), call("shell")),
    "langchain, async": (agent("langchain", "langchain_agent.py", "stream"), call("shell")),
    "pydantic-ai, model": (agent("pydantic-ai", "pydantic_agent.py", "chat"), call("shell")),
    "pydantic-ai, capability": (agent("pydantic-ai", "pydantic_agent.py", "messages"), call("shell")),
    "openhands": (agent("openhands", "openhands_agent.py", where=True), call("terminal")),
    "mini-swe-agent": (mini, MiniSweAgent.shell),
    "hermes": (hermes, Hermes.shell),
}
KEEPS_NOTHING = ("openai", "openai, responses, streamed", "anthropic", "hermes")
"""Programs that don't show what they keep."""
HERE = ("openai", "anthropic")
"""Those whose install takes seconds."""


def steps(name: str, *extra: Step) -> list[Step]:
    shell = RUNS[name][1]
    script = work.script(shell)
    if name == "mini-swe-agent":
        script[-1] = Step(work.FINAL, (shell(MiniSweAgent.END),))
    return [*script[:7], *extra, *script[7:]]


def cases(names: Sequence[str]) -> list[object]:
    return [pytest.param(name, marks=() if name in HERE else MORE) for name in names]


def ran(bench: Bench, name: str, workspace: Path) -> tuple[str, list[Turn]]:
    """The whole run, which must have reached its goal."""
    said = RUNS[name][0](bench, workspace)
    turns = bench.turns(work.KEY)
    assert (workspace / "refund.txt").read_text() == f"refunded {work.order_of(work.OLD)}\n"
    assert work.FINAL in said
    return said, turns


@pytest.mark.parametrize("name", cases(list(RUNS)))
def test_a_run_longer_than_the_budget(tmp_path: Path, name: str) -> None:
    workspace = work.make_workspace(tmp_path / "work")
    budget = 4_500 if name == "mini-swe-agent" else BUDGET
    with Bench(tmp_path, {work.KEY: steps(name)}, budget, adapter=True) as bench:
        said, turns = ran(bench, name, workspace)
        assert len(turns) == work.RECORDS + 3
        assert_within(turns, budget)
        seen = records_read(turns)
        assert seen.omitted
        assert work.OLD in seen.restored
        assert new_prefixes(turns) <= len(turns) // 2
        if name not in KEEPS_NOTHING:
            assert work.marks(said) == set(range(1, work.RECORDS + 1)), "the program's own history is whole"


@pytest.mark.parametrize("fate", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("name", cases(["openai", "langchain", "pydantic-ai, capability", "openhands", "hermes"]))
def test_a_server_that_dies_or_hangs_in_mid_run_changes_nothing(
    tmp_path: Path, name: str, fate: signal.Signals
) -> None:
    """The agent itself does it to the server, in the middle of its work; then it goes on with all it has."""
    workspace = work.make_workspace(tmp_path / "work")
    with Bench(tmp_path, {work.KEY: []}, adapter=True) as bench:
        end = Step("", (RUNS[name][1](f"kill -{fate.value} {bench.server.pid}"),))
        bench.model.scripts[work.KEY] = steps(name, end)
        _, turns = ran(bench, name, workspace)
        assert len(turns) == work.RECORDS + 4
        seen = records_read(turns)
        assert len(seen.got[6]) < 6, "managed before"
        assert seen.got[-1] == set(range(1, work.RECORDS + 1)), "as it is afterwards"
        if fate is signal.SIGSTOP:
            os.kill(bench.server.pid, signal.SIGCONT)
