"""Runs the Jac cases, in process and by `jac test`."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_the_jac_cases_pass_under_jac_test() -> None:
    jac = Path(sys.executable).with_name("jac")
    done = subprocess.run(
        [str(jac), "test", str(HERE / "graph_cases.jac")],
        capture_output=True, text=True, timeout=120, check=False, cwd=HERE.parents[1], env={**os.environ},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 tests" in done.stdout + done.stderr
