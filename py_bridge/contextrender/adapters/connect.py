"""What has to be set in a client program so that it uses a running server: written where that is safe, else shown.

A program's own file is changed only where it is JSON, at the named places; what was there before is kept for `undo`.
"""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextrender.errors import InputError

Place = tuple[str, ...]
"""Keys from the outermost object inwards."""
HERMES_PLUGIN = Path(__file__).parent / "hermes_plugin"


@dataclass(frozen=True, slots=True)
class Program:
    """`lines`: what a user may do by hand, where {url} is the server's. `file` and `values`: what is set in its JSON
    file. `folder`: a folder that is put at `file` instead.
    """

    name: str
    lines: str
    file: Callable[[], Path] | None = None
    values: Mapping[Place, str] | None = None
    folder: Path | None = None


def _home(variable: str, usual: str, *rest: str) -> Callable[[], Path]:
    return lambda: Path(os.environ.get(variable) or Path(usual).expanduser()).joinpath(*rest)


def _opencode() -> Path:
    named = os.environ.get("OPENCODE_CONFIG")
    return Path(named) if named else Path("~/.config/opencode/opencode.json").expanduser()


PROGRAMS = {
    program.name: program
    for program in (
        Program(
            "claude",
            "ANTHROPIC_BASE_URL={url} claude",
            _home("CLAUDE_CONFIG_DIR", "~/.claude", "settings.json"),
            {("env", "ANTHROPIC_BASE_URL"): "{url}"},
        ),
        Program(
            "codex",
            'In ~/.codex/config.toml:\n\nmodel_provider = "contextrender"\n\n[model_providers.contextrender]\n'
            'name = "ContextRender"\nbase_url = "{url}/v1"\nwire_api = "responses"\nrequires_openai_auth = true',
        ),
        Program(
            "opencode",
            'In opencode.json, for the provider you use (the plugin in adapters/opencode is the other way):\n\n'
            '"provider": {{"openai": {{"options": {{"baseURL": "{url}/v1"}}}}}}',
            _opencode,
            {("provider", name, "options", "baseURL"): "{url}/v1" for name in ("anthropic", "openai")},
        ),
        Program(
            "openclaw",
            'In the configuration, for the provider you use; the key tells its sessions apart:\n\n'
            '"models": {{"providers": {{"openai": {{"baseUrl": "{url}/v1", "models": [{{…, '
            '"compat": {{"supportsPromptCacheKey": true}}}}]}}}}}}',
        ),
        Program(
            "hermes",
            "hermes plugins enable contextrender     # once its folder is in $HERMES_HOME/plugins",
            _home("HERMES_HOME", "~/.hermes", "plugins", "contextrender"),
            folder=HERMES_PLUGIN,
        ),
        Program("are", "are-run … --provider local --endpoint {url}/s/NAME/v1     # NAME: any name for the run"),
        Program("openai", "OPENAI_BASE_URL={url}/v1     # or: client = contextrender.wrap(OpenAI())"),
        Program("anthropic", "ANTHROPIC_BASE_URL={url}     # or: client = contextrender.wrap(Anthropic())"),
        Program(
            "langchain",
            "from contextrender.adapters.langchain import ContextRenderMiddleware\n"
            "agent = create_agent(model, tools, middleware=[ContextRenderMiddleware()])",
        ),
        Program(
            "pydantic-ai",
            "from contextrender.adapters.pydantic_ai import ContextRender\n"
            "agent = Agent(model, capabilities=[ContextRender()])",
        ),
        Program(
            "openhands",
            "from contextrender.adapters.openhands import ContextRenderCondenser\n"
            "agent = Agent(llm=llm, tools=tools, condenser=ContextRenderCondenser())",
        ),
        Program(
            "mini-swe-agent",
            "mini --model-class contextrender.adapters.mini_swe_agent.ContextRenderModel …",
        ),
        Program("litellm", "litellm_settings:\n  callbacks: contextrender.adapters.litellm.hook"),
        Program(
            "appworld",
            "from contextrender.adapters.appworld import with_context\n"
            "Agent = with_context(SimplifiedReActCodeAgent)",
        ),
        Program(
            "acon",
            "from contextrender.adapters.acon import with_context\n"
            "agent.memory_manager = with_context(MemoryManager)()",
        ),
    )
}
"""By name, the programs that can be connected."""


def program_by_name(name: str) -> Program:
    """Raises InputError for a name that is none."""
    if name not in PROGRAMS:
        raise InputError(f"unknown program {name!r}", "program", ", ".join(PROGRAMS))
    return PROGRAMS[name]


def connect(program: Program, url: str, kept: Path) -> Path:
    """Set what the program needs; returns the file or folder. `kept`: where that which was there before is noted.

    Raises InputError where the program's file can't be changed: then its `lines` say what to do.
    """
    path = _target(program)
    if program.folder is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(program.folder, path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        return path
    settings = _read(path)
    before = _read(kept)
    noted = before.setdefault(program.name, {"file": str(path), "values": []})
    for place, text in (program.values or {}).items():
        value = text.format(url=url)
        old = _get(settings, place)
        if old != value:
            noted["values"] = [one for one in noted["values"] if tuple(one["place"]) != place]
            noted["values"].append({"place": list(place), "value": old})
        _set(settings, place, value)
    _write(kept, before)
    _write(path, settings)
    return path


def undo(program: Program, kept: Path) -> Path:
    """Take back what `connect` has set. Raises InputError where nothing was set, or the file can't be changed."""
    path = _target(program)
    if program.folder is not None:
        if not path.exists():
            raise InputError(f"{path} is not there", "program", "a program that was connected")
        shutil.rmtree(path)
        return path
    before = _read(kept)
    noted = before.pop(program.name, None)
    if noted is None:
        raise InputError(f"{program.name} was not connected from here", "program", "a program that was connected")
    path = Path(noted["file"])
    settings = _read(path)
    for one in noted["values"]:
        _set(settings, tuple(one["place"]), one["value"])
    _write(path, settings)
    _write(kept, before)
    return path


def _target(program: Program) -> Path:
    if program.file is None:
        raise InputError(f"{program.name} has no file that is changed here", "program", "its lines, by hand")
    return program.file()


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise InputError(f"it is no plain JSON ({error})", str(path), "the lines of `--print`, by hand") from error
    if not isinstance(found, dict):
        raise InputError("it is no JSON object", str(path), "the lines of `--print`, by hand")
    return found


def _write(path: Path, settings: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.new")
    temporary.write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n")
    if path.exists():
        temporary.chmod(path.stat().st_mode & 0o777)
    temporary.replace(path)


def _get(settings: Mapping[str, Any], place: Place) -> Any:
    found: Any = settings
    for key in place:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _set(settings: dict[str, Any], place: Place, value: Any) -> None:
    """Set the value; None takes it out, with the objects that are empty then."""
    key, rest = place[0], place[1:]
    if rest:
        inner = settings.setdefault(key, {})
        if not isinstance(inner, dict):
            raise InputError(f"{key} is no object", "file", "the lines of `--print`, by hand")
        _set(inner, rest, value)
        if value is None and not inner:
            del settings[key]
    elif value is None:
        settings.pop(key, None)
    else:
        settings[key] = value
