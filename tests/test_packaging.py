"""What goes into the wheel, and how the set-up finds a Python."""

import os
import runpy
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
from setuptools import Distribution

ROOT = Path(__file__).resolve().parent.parent
FIND_PYTHON = ROOT / "scripts" / "find_python.sh"
NOT_SHIPPED = ["*.pyc", "*.md", "*/.*", "*/__pycache__/*", "*/__jac_gen__/*"]


@pytest.fixture(scope="module")
def setup_py() -> dict[str, dict[str, str]]:
    """The names of setup.py, read without building anything."""
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        return runpy.run_path(str(ROOT / "setup.py"))
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def source_files(setup_py: dict[str, dict[str, str]]) -> set[Path]:
    """Every file below the package folders that is ours."""
    return {
        file.relative_to(ROOT)
        for folder in setup_py["PACKAGE_DIR"].values()
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and not any(fnmatch(str(file.relative_to(ROOT)), pattern) for pattern in NOT_SHIPPED)
    }


@pytest.fixture
def built_files(setup_py: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> set[Path]:
    """Every file that a build would copy, by setuptools' own reckoning."""
    monkeypatch.chdir(ROOT)
    distribution = Distribution(
        {"script_name": "setup.py", "packages": setup_py["PACKAGES"], "package_dir": setup_py["PACKAGE_DIR"]}
    )
    distribution.parse_config_files()
    build_py = distribution.get_command_obj("build_py")
    build_py.ensure_finalized()
    modules = {Path(file) for _, _, file in build_py.find_all_modules()}
    data = {Path(folder, file) for _, folder, _, files in build_py.data_files for file in files}
    return modules | data


def test_every_source_and_data_file_is_built(source_files: set[Path], built_files: set[Path]) -> None:
    """A new sub-package, Jac module or data file is in the wheel; a new kind of file needs a line in package-data."""
    assert source_files <= built_files, f"not in the wheel: {sorted(map(str, source_files - built_files))}"


def test_nothing_else_is_built(source_files: set[Path], built_files: set[Path]) -> None:
    """No tests, caches or notes in the wheel."""
    assert built_files <= source_files, f"should not be in the wheel: {sorted(map(str, built_files - source_files))}"


def test_the_jac_folder_is_a_package_of_its_own_name(setup_py: dict[str, dict[str, str]]) -> None:
    """The folder jac/ is imported as contextrender.graph."""
    assert "contextrender.graph" in setup_py["PACKAGES"]
    assert setup_py["PACKAGE_DIR"]["contextrender.graph"] == "jac"


def write_python(file: Path, script: str) -> None:
    """Make an executable that stands for a Python."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def find_python(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script where nothing but `tmp_path`/bin is on the PATH and the home is empty."""
    (tmp_path / "bin").mkdir(exist_ok=True)
    (tmp_path / "home").mkdir(exist_ok=True)
    clean = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home"), "FIND_PYTHON_SYSTEM_DIRS": ""}
    return subprocess.run(
        ["/bin/sh", str(FIND_PYTHON)], env=clean | environment, capture_output=True, text=True, check=False
    )


def running_python() -> str:
    """A shell line that hands over to the Python of this test."""
    return f'exec "{sys.executable}" "$@"'


def test_no_python_is_said_with_exit_2(tmp_path: Path) -> None:
    """Without any Python the script says what to install."""
    found = find_python(tmp_path)
    assert found.returncode == 2
    assert found.stdout == ""
    assert "needs Python 3.12" in found.stderr
    assert "apt install python3.12" in found.stderr


def test_an_old_python_is_named_in_the_message(tmp_path: Path) -> None:
    """A Python that is too old is not taken, and the message says that it was seen."""
    write_python(tmp_path / "bin" / "python3", "echo 3.11 /usr/bin/python3")
    found = find_python(tmp_path)
    assert found.returncode == 2
    assert "bin/python3 is Python 3.11" in found.stderr


def test_a_shim_that_fails_is_skipped(tmp_path: Path) -> None:
    """A pyenv shim may stand first on the PATH and fail; the next folder's Python of the same name is taken."""
    write_python(tmp_path / "shims" / "python3.12", "echo 'pyenv: python3.12: command not found' >&2; exit 127")
    write_python(tmp_path / "bin" / "python3.12", running_python())
    found = find_python(tmp_path, PATH=f"{tmp_path / 'shims'}:{tmp_path / 'bin'}")
    assert (found.returncode, found.stdout.strip()) == (0, sys.executable)


@pytest.mark.parametrize(
    "place", [".pyenv/versions/3.12.9/bin/python", ".local/share/uv/python/cpython-3.13.1-linux/bin/python3"]
)
def test_the_folders_of_pyenv_and_uv_are_searched(tmp_path: Path, place: str) -> None:
    """A Python that is installed but not on the PATH is found."""
    write_python(tmp_path / "home" / place, running_python())
    found = find_python(tmp_path)
    assert (found.returncode, found.stdout.strip()) == (0, sys.executable)


def test_a_tested_version_wins_over_a_newer_one(tmp_path: Path) -> None:
    """The lock is made for tested versions, so a newer Python comes last, with a note."""
    newer = tmp_path / "bin" / "python3.14"
    write_python(newer, f'case "$*" in *print*) echo "3.14 {newer}";; esac')
    alone = find_python(tmp_path)
    assert (alone.returncode, alone.stdout.strip()) == (0, str(newer))
    assert "tested with 3.12 and 3.13" in alone.stderr

    tested = tmp_path / "home" / ".pyenv" / "versions" / "3.13.1" / "bin" / "python"
    write_python(tested, f'case "$*" in *print*) echo "3.13 {tested}";; esac')
    both = find_python(tmp_path)
    assert (both.stdout.strip(), both.stderr) == (str(tested), "")


def test_the_python_asked_for_is_taken_first(tmp_path: Path) -> None:
    """PYTHON wins over what is on the PATH; one that can't be used is said and passed over."""
    write_python(tmp_path / "bin" / "python3.12", running_python())
    mine = tmp_path / "mine" / "python"
    write_python(mine, f'case "$*" in *print*) echo "3.13 {mine}";; esac')
    assert find_python(tmp_path, PYTHON=str(mine)).stdout.strip() == str(mine)

    passed_over = find_python(tmp_path, PYTHON=str(tmp_path / "missing"))
    assert passed_over.stdout.strip() == sys.executable
    assert "not a usable Python" in passed_over.stderr


def test_a_program_keeps_its_logging() -> None:
    """What we import sets nothing of the program that imports us."""
    program = (
        "import logging, contextrender\n"
        "contextrender.Session('paper', 100, 'hash').ingest([{'role': 'user', 'content': 'x'}])\n"
        "import contextrender.client, contextrender.compaction.byllm\n"
        "root = logging.getLogger()\n"
        "print(root.handlers, root.level == logging.WARNING)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[] True\n"
