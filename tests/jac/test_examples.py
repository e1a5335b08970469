"""The examples in Jac run as their first lines say."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("example", "says"),
    [
        ("jac_walker/reused_results.jac", ["values reused of"]),
        ("jac_agent/settle.jac", ["28 turns; the history has 12,686 tokens", "goal reached"]),
    ],
)
def test_an_example_runs(example: str, says: list[str]) -> None:
    argv = [str(Path(sys.executable).with_name("jac")), "run", str(ROOT / "examples" / example)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(text in done.stdout for text in says)
