"""`contextrender doctor`: is the data folder sound?"""

from pathlib import Path
from typing import Any

import click

from contextrender.cli.options import setting_options, settings_of
from contextrender.errors import UnavailableError


@click.command("doctor")
@click.option("--repair", is_flag=True, help="Tighten permissions, and remove links that lead nowhere.")
@setting_options("data", "busy_timeout")
def command(config: Path | None, repair: bool, **given: Any) -> None:
    """Check the data folder: the file, its permissions, the graph's links. Exit code 1 when something is wrong."""
    settings = settings_of(config, given).settings
    from contextrender.server import platform

    if not (settings.data / platform.STORE_FILE).exists():
        raise UnavailableError(f"there is no store in {settings.data}")
    platform.start(settings.data, settings.busy_timeout)
    from contextrender.server.doctor import examine

    problems = examine(platform.running(), repair)
    for problem in problems:
        click.echo(problem)
    click.echo(f"{settings.data}: {len(problems)} problem{'' if len(problems) == 1 else 's'}", err=True)
    raise click.exceptions.Exit(1 if problems and not repair else 0)
