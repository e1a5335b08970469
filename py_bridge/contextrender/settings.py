"""What can be set: in a TOML file, in the environment (stronger), by flags (strongest).

    contextrender.toml          CONTEXTRENDER_BUDGET=8000          --budget 8000
    budget = 8000

`load` checks all of it at once and says which key is wrong and where its value came from. The fields of `Settings` are
the only list: flags, environment names, `contextrender config` and docs/settings.md are made from it.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contextrender.errors import InputError

PREFIX = "CONTEXTRENDER_"
FILE_VARIABLE = "CONTEXTRENDER_CONFIG"
TOKEN_FILE = "token"
"""In the data folder: what clients on this machine show to the server."""
Port = Annotated[int, Field(ge=0, le=65535)]
Count = Annotated[int, Field(ge=1)]


class Settings(BaseModel):
    """Everything that can be set. A description says what it does and in which unit."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: Path = Field(
        default_factory=lambda: platformdirs.user_data_path("contextrender"),
        description="Folder of the store, its secret and the local token.",
    )
    host: str = Field("127.0.0.1", description="Address of `serve`. Another one than loopback demands tokens.")
    port: Port = Field(8420, description="Port of `serve`; 0 takes a free one.")
    proxy_port: Port = Field(8421, description="Port of `proxy`, on loopback; 0 takes a free one.")
    workers: Count = Field(1, description="Processes of `serve`; all use one store.")
    policy: str = Field("default", description="Policy of sessions that are opened without one.")
    budget: Count = Field(6000, description="History tokens of a render.")
    embedder: Literal["wordllama", "hash", ""] = Field("", description="Embedder; empty takes the policy's.")
    retention_days: Count | None = Field(
        None, description="Days without a write after which a session is deleted; empty keeps it."
    )
    memory: Count = Field(256, description="MiB of sessions that are kept ready in one process.")
    explainable: Count = Field(50, description="Renders of a session that can be explained later.")
    max_body: Count = Field(64, description="MiB of one request.")
    registration: bool = Field(False, description="Whether anyone who reaches `serve` may register as a user.")
    busy_timeout: float = Field(5.0, gt=0, description="Seconds to wait for another writer of the store.")
    upstream: str = Field("", description="Base URL of the provider; empty means OpenAI and Anthropic, by format.")
    upstream_responses: str = Field("", description="Base URL for /v1/responses, where it is another one.")
    upstream_anthropic: str = Field("", description="Base URL for /v1/messages, where it is another one.")
    render_ms: Count = Field(250, description="Milliseconds after which the proxy stops waiting for a render.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged.")


@dataclass(frozen=True, slots=True)
class InForce:
    """The settings, and where the value of each came from: `default`, a file's path, `$NAME` or `--flag`."""

    settings: Settings
    origins: Mapping[str, str]


def config_file() -> Path:
    """The file that is read when none is named."""
    return platformdirs.user_config_path("contextrender") / "contextrender.toml"


def flag(key: str) -> str:
    """The command line's name of a setting."""
    return "--" + key.replace("_", "-")


def variable(key: str) -> str:
    """The environment's name of a setting."""
    return PREFIX + key.upper()


def load(flags: Mapping[str, Any] | None = None, file: Path | None = None) -> InForce:
    """What is in force. flags: those that were given; file: instead of $CONTEXTRENDER_CONFIG or the usual place.

    Raises InputError that names every key that is wrong, where its value came from, and what is accepted.
    """
    named = file or (Path(os.environ[FILE_VARIABLE]) if os.environ.get(FILE_VARIABLE) else None)
    path = named or config_file()
    values: dict[str, Any] = {}
    origins: dict[str, str] = dict.fromkeys(Settings.model_fields, "default")
    for key, value in _read(path, bool(named)).items():
        values[key], origins[key] = value, str(path)
    for key in Settings.model_fields:
        if value := os.environ.get(variable(key)):  # an empty one is as good as none
            values[key], origins[key] = value, f"${variable(key)}"
    for key, value in (flags or {}).items():
        if value is not None:
            values[key], origins[key] = value, flag(key)
    try:
        return InForce(Settings.model_validate(values), origins)
    except ValidationError as error:
        raise InputError("; ".join(_told(problem, origins) for problem in error.errors()), "settings") from None


def _read(path: Path, must: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        if must:
            raise InputError("there is no such file", str(path)) from None
        return {}
    except (OSError, ValueError) as error:
        raise InputError(f"can't be read: {error}", str(path), "a TOML file") from error


def _told(problem: Any, origins: Mapping[str, str]) -> str:
    key = str(problem["loc"][0])
    if problem["type"] == "extra_forbidden":
        return f"{key} (from {origins.get(key, '?')}): unknown key; accepted: {', '.join(Settings.model_fields)}"
    return f"{key} (from {origins.get(key, '?')}): {problem['msg']}"
