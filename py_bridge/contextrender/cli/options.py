"""Flags made from the settings: one for each field that a command uses, stronger than the file and the environment."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from contextrender.settings import InForce, Settings, flag, load

SERVER = ("data", "policy", "budget", "embedder", "retention_days", "memory", "explainable", "busy_timeout")
PROXY = ("upstream", "upstream_responses", "upstream_anthropic", "render_ms", "max_body", "log_level")


def setting_options(*keys: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Options for these settings, and `--config`; the command gets the values as keywords, None where not given."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for key in reversed(keys):
            field = Settings.model_fields[key]
            name = f"{flag(key)}/{flag('no_' + key)}" if field.annotation is bool else flag(key)
            default = "" if field.default_factory or field.default in ("", None) else f" [default: {field.default}]"
            kind: Any = None if field.annotation is bool else str
            metavar = None if field.annotation is bool else key.upper().split("_")[-1]
            told = f"{field.description}{default}"
            command = click.option(name, key, default=None, type=kind, metavar=metavar, help=told)(command)
        path = click.Path(path_type=Path, dir_okay=False)
        return click.option("--config", type=path, help="A TOML file of settings, instead of the usual one.")(command)

    return add


def settings_of(config: Path | None, given: dict[str, Any]) -> InForce:
    """What is in force with the flags that were given. Raises InputError."""
    return load(given, config)
