"""`contextrender connect`: what it sets, and that undoing it leaves what was there."""

import json
import subprocess
from pathlib import Path

import pytest

from contextrender.adapters.connect import PROGRAMS, connect, program_by_name, undo
from contextrender.errors import InputError
from tests.proxy.provider import COMMAND

URL = "http://127.0.0.1:8420"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "OPENCODE_CONFIG", "HERMES_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if program.values])
@pytest.mark.parametrize("before", [None, {}, {"theme": "dark", "env": {"A": "1"}, "provider": {"openai": {"x": 1}}}])
def test_what_is_set_can_be_taken_back(home: Path, name: str, before: object) -> None:
    program = program_by_name(name)
    assert program.file
    assert program.values
    path, kept = program.file(), home / "connected.json"
    if before is not None:
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(before))
    for _ in range(2):  # twice is once
        assert connect(program, URL, kept) == path
    text = path.read_text()
    assert all(json.dumps(value.format(url=URL)) in text for value in program.values.values())
    undo(program, kept)
    assert json.loads(path.read_text()) == (before or {})
    with pytest.raises(InputError, match="not connected"):
        undo(program, kept)


def test_a_file_with_comments_is_left_alone(home: Path) -> None:
    path = home / ".config" / "opencode" / "opencode.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"theme": "dark", // mine\n}')
    with pytest.raises(InputError, match="no plain JSON"):
        connect(program_by_name("opencode"), URL, home / "connected.json")
    assert path.read_text() == '{"theme": "dark", // mine\n}'


def test_the_plugin_of_hermes_is_put_there_and_removed(home: Path) -> None:
    program = program_by_name("hermes")
    folder = connect(program, URL, home / "connected.json")
    assert {path.name for path in folder.iterdir()} == {"__init__.py", "plugin.yaml"}
    undo(program, home / "connected.json")
    assert not folder.exists()


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_lines_name_the_server(name: str) -> None:
    lines = PROGRAMS[name].lines.format(url=URL)
    assert URL in lines or "contextrender" in lines


def test_the_command_says_when_no_server_runs(home: Path) -> None:
    argv = [str(COMMAND), "connect", "openai", "--url", "http://127.0.0.1:9"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert "OPENAI_BASE_URL=http://127.0.0.1:9/v1" in done.stdout
    assert done.returncode == 2
    assert "contextrender serve" in done.stderr
    assert "Traceback" not in done.stderr
    unknown = subprocess.run([str(COMMAND), "connect", "vim"], capture_output=True, text=True, check=False)
    assert unknown.returncode == 2
    assert "unknown program 'vim'" in unknown.stderr
