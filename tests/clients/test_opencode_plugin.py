"""The opencode plugin, packed and installed from its tarball, in the real opencode; no proxy between."""

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.clients import work
from tests.clients.harness import BUDGET, Bench
from tests.clients.model import Step, Use
from tests.clients.programs import ADAPTERS, OpenCode
from tests.clients.rules import assert_within, new_prefixes, records_read

pytestmark = [pytest.mark.clients, pytest.mark.slow]
shell = OpenCode.shell


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin's main file, after a type check, a build, a pack and an install from the tarball."""
    source = tmp_path_factory.mktemp("source") / "opencode"
    shutil.copytree(ADAPTERS / "opencode", source, ignore=shutil.ignore_patterns("node_modules", "dist", "*.tgz"))
    installed = tmp_path_factory.mktemp("installed")
    quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
    for argv, where in (
        (["npm", "ci", *quiet], source),
        (["npm", "pack", *quiet, "--pack-destination", str(installed)], source),
        (["npm", "install", *quiet, "contextrender-opencode-0.1.0.tgz"], installed),
    ):
        done = subprocess.run(argv, cwd=where, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return installed / "node_modules" / "contextrender-opencode" / "dist" / "index.js"


def test_a_run_longer_than_the_budget(tmp_path: Path, plugin: Path) -> None:
    workspace = work.make_workspace(tmp_path / "work")
    with Bench(tmp_path, {work.KEY: work.script(shell)}, adapter=True) as bench:
        opencode = OpenCode(bench, workspace, plugin)
        done = opencode.run(work.TASK, env=bench.adapter_env)
        turns = bench.turns(work.KEY)
        assert [line["part"]["text"] for line in done.lines if line["type"] == "text"][-1] == work.FINAL
        assert len(turns) == work.RECORDS + 3
        assert_within(turns, BUDGET)
        seen = records_read(turns)
        assert seen.omitted
        assert work.OLD in seen.restored
        assert new_prefixes(turns) <= len(turns) // 2
        assert work.marks(opencode.stored(done.lines[0]["sessionID"])) == set(range(1, work.RECORDS + 1))


@pytest.mark.more_clients
def test_subagents_have_sessions_of_their_own_and_compaction_is_left_alone(tmp_path: Path, plugin: Path) -> None:
    subtask = Use("task", {"description": "sub", "prompt": "SUBTASK-3: read them", "subagent_type": "general"})
    steps = [
        *(work.read_record(shell, number) for number in range(1, 8)),
        Step("", (subtask,)),
        Step("", (shell("cat records/09.txt"),), tokens=127_000),  # makes opencode compact
        *(work.read_record(shell, number) for number in range(10, 14)),
        Step(work.FINAL),
    ]
    sub = [*(work.read_record(shell, number) for number in range(1, 7)), Step("The subagent is done.")]
    workspace = work.make_workspace(tmp_path / "work")
    scripts = {work.KEY: steps, "SUBTASK-3": sub}
    with Bench(tmp_path, scripts, adapter=True, asides=f"A summary of {work.KEY}: half of it is done.") as bench:
        opencode = OpenCode(bench, workspace, plugin)
        done = opencode.run(work.TASK, env=bench.adapter_env)
        assert [line["part"]["text"] for line in done.lines if line["type"] == "text"][-1] == work.FINAL
        main, aside = bench.turns(work.KEY), bench.turns("SUBTASK-3")
        assert (len(main), len(aside)) == (len(steps), len(sub))
        assert_within(main, BUDGET)
        assert_within(aside, BUDGET)
        assert records_read(aside).omitted
        summary = next(turn for turn in bench.asides_sent if "RECORD-" in str(turn.got.body))
        assert work.marks(str(summary.got.body)) >= set(range(1, 7)), "the compaction reads it whole"


@pytest.mark.more_clients
@pytest.mark.parametrize("fate", [signal.SIGKILL, signal.SIGSTOP])
def test_a_server_that_dies_or_hangs_in_mid_run_changes_nothing(
    tmp_path: Path, plugin: Path, fate: signal.Signals
) -> None:
    workspace = work.make_workspace(tmp_path / "work")
    with Bench(tmp_path, {work.KEY: []}, adapter=True) as bench:
        script = work.script(shell)
        end = Step("", (shell(f"kill -{fate.value} {bench.server.pid}"),))
        bench.model.scripts[work.KEY] = [*script[:7], end, *script[7:]]
        done = OpenCode(bench, workspace, plugin).run(work.TASK, env=bench.adapter_env)
        assert [line["part"]["text"] for line in done.lines if line["type"] == "text"][-1] == work.FINAL
        seen = records_read(bench.turns(work.KEY))
        assert len(seen.got[6]) < 6, "managed before"
        assert seen.got[-1] == set(range(1, work.RECORDS + 1)), "as it is afterwards"
