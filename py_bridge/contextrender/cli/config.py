"""`contextrender config`: what is in force, and where each value came from."""

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from contextrender.cli.options import setting_options, settings_of
from contextrender.settings import Settings, config_file, flag, variable


@click.command("config")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--page", is_flag=True, help="All settings with what they do, in Markdown (docs/settings.md).")
@setting_options(*Settings.model_fields)
def command(config: Path | None, as_json: bool, page: bool, **given: Any) -> None:
    """Show the settings in force: from flags, the environment (CONTEXTRENDER_...), a TOML file, or built in."""
    if page:
        click.echo(settings_page(), nl=False)
        return
    found = settings_of(config, given)
    values = found.settings.model_dump(mode="json")
    if as_json:
        click.echo(json.dumps({key: {"value": values[key], "from": found.origins[key]} for key in values}, indent=2))
        return
    table = Table("setting", "value", "from", box=None)
    for key, value in values.items():
        table.add_row(key, "" if value is None else str(value), found.origins[key])
    console = Console()
    console.print(table)
    console.print(f"\nfile: {config or config_file()}", style="dim", highlight=False)


def settings_page() -> str:
    """The settings in Markdown."""
    rows = []
    for key, field in Settings.model_fields.items():
        default = "the user's data folder" if field.default_factory else str(field.default if field.default else "")
        cells = (f"`{key}`", f"`{variable(key)}`", f"`{flag(key)}`", default or "none", str(field.description))
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(
        (
            "# Settings",
            "",
            "In a TOML file (`contextrender config` says which one is read, `--config` and `CONTEXTRENDER_CONFIG` name",
            "another one), in the environment, or as flags of the commands that use them; a flag is stronger than the",
            "environment, the environment than the file. `contextrender config` shows what is in force and where each",
            "value came from. This page: `contextrender config --page`.",
            "",
            "| In the file | In the environment | As a flag | Default | What it does |",
            "|---|---|---|---|---|",
            *rows,
            "",
        )
    )
