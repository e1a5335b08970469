"""`contextrender token`: make, list and revoke what clients of the server show."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from contextrender.cli.options import setting_options, settings_of


@click.group("token")
def command() -> None:
    """Make, list and revoke tokens of the server. Clients on this machine have one already, in the data folder."""


@command.command("create")
@click.argument("name")
@click.option("--user", metavar="EMAIL", help="Whose sessions it opens [default: the local user's].")
@click.option("--days", type=click.IntRange(1, 36_500), help="How long it is good [default: until it is revoked].")
@setting_options("data")
def create(name: str, user: str | None, days: int | None, **given: Any) -> None:
    """Make a token and print it: it is stored nowhere, and can't be shown again."""
    tokens = _tokens(given)
    click.echo(tokens.make_token(name, user or tokens.LOCAL_EMAIL, days))


@command.command("list")
@setting_options("data")
def list_(**given: Any) -> None:
    """Show the tokens' names, users and times."""
    tokens = _tokens(given)
    table = Table("name", "user", "made", "good until", box=None)
    for token in tokens.tokens():
        until = "revoked" if token.until is None else _date(token.until)
        table.add_row(token.name, token.email, _date(token.made), f"{until}{' (over)' if token.over else ''}")
    Console().print(table)


@command.command("revoke")
@click.argument("name")
@setting_options("data")
def revoke(name: str, **given: Any) -> None:
    """Make a token worthless, at once and in all processes."""
    _tokens(given).revoke_token(name)


def _tokens(given: dict[str, Any]) -> Any:
    config: Path | None = given.pop("config")
    from contextrender.server.platform import start

    start(settings_of(config, given).settings.data)
    from contextrender.server import tokens

    return tokens


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
