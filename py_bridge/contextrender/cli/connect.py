"""`contextrender connect PROGRAM`: set up a client program for the running server, or take it back."""

import click


@click.command("connect")
@click.argument("program", required=False)
@click.option("--print", "show", is_flag=True, help="Only show the lines to set by hand.")
@click.option("--undo", "back", is_flag=True, help="Take back what was set.")
@click.option("--url", help="The server [default: this machine's].")
def command(program: str | None, show: bool, back: bool, url: str | None) -> None:
    """Set up a client program for the running server, and check that it answers; without PROGRAM, list them all."""
    from contextrender.adapters.connect import PROGRAMS, connect, program_by_name, undo
    from contextrender.settings import load

    if program is None:
        for one in PROGRAMS.values():
            click.echo(f"{one.name:<15} {'written' if one.file else 'by hand'}")
        return
    settings = load().settings
    chosen, kept = program_by_name(program), settings.data / "connected.json"
    where = (url or f"http://127.0.0.1:{settings.port}").rstrip("/")
    if back:
        click.echo(f"{undo(chosen, kept)}: as before")
        return
    if show or chosen.file is None:
        click.echo(chosen.lines.format(url=where))
    else:
        click.echo(f"{connect(chosen, where, kept)}: set")
        if chosen.folder:
            click.echo(chosen.lines.format(url=where))
    _check(where)


def _check(url: str) -> None:
    """Say whether the server is there and takes our token. Raises UnavailableError or AccessError."""
    from contextrender.client import Client

    with Client(url) as client:
        client.sessions(limit=1)
    click.echo(f"{url} answers")
