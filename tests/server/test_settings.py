"""Settings: which value wins, and what is said of a wrong one."""

import json
import subprocess
from pathlib import Path

import pytest

from contextrender.cli.config import settings_page
from contextrender.errors import InputError
from contextrender.settings import Settings, load
from tests.proxy.provider import COMMAND


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A settings file that is in use."""
    path = tmp_path / "contextrender.toml"
    path.write_text("budget = 1000\nport = 1\nworkers = 3\n")
    monkeypatch.setenv("CONTEXTRENDER_CONFIG", str(path))
    return path


def test_flags_are_stronger_than_the_environment_than_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTRENDER_BUDGET", "2000")
    monkeypatch.setenv("CONTEXTRENDER_PORT", "2")
    monkeypatch.setenv("CONTEXTRENDER_MEMORY", "")
    found = load({"budget": "3000", "policy": None})
    assert (found.settings.budget, found.settings.port, found.settings.workers) == (3000, 2, 3)
    origins = {key: found.origins[key] for key in ("budget", "port", "workers", "policy", "memory")}
    assert origins == {
        "budget": "--budget",
        "port": "$CONTEXTRENDER_PORT",
        "workers": str(file),
        "policy": "default",
        "memory": "default",
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("budget = 0", "budget (from "),
        ("nonsense = 1", "nonsense (from "),
        ("budget = [", "can't be read"),
        ("log_level = 'loud'", "log_level (from "),
    ],
)
def test_a_wrong_value_is_named_with_where_it_came_from(file: Path, text: str, told: str) -> None:
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        load()
    assert told in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load(file=tmp_path / "none.toml")


def test_the_command_shows_every_setting_and_where_it_came_from(file: Path) -> None:
    argv = [str(COMMAND), "config", "--json", "--budget", "7"]
    told = json.loads(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)
    assert set(told) == set(Settings.model_fields)
    assert told["budget"] == {"value": 7, "from": "--budget"}
    assert told["workers"] == {"value": 3, "from": str(file)}


def test_a_wrong_flag_ends_the_server_with_a_message(tmp_path: Path) -> None:
    argv = [str(COMMAND), "serve", "--data", str(tmp_path), "--budget", "none", "--upstream", "x"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "budget (from --budget)" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_setting_is_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
    assert page == settings_page()  # make it anew: contextrender config --page > docs/settings.md
