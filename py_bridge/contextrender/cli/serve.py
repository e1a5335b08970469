"""`contextrender serve`: the walkers and the proxy over one durable graph."""

from pathlib import Path
from typing import Any

import click

from contextrender.cli.options import PROXY, SERVER, setting_options, settings_of


@click.command("serve")
@setting_options("host", "port", "workers", "registration", *SERVER, *PROXY)
def command(config: Path | None, **given: Any) -> None:
    """Serve sessions over HTTP: one jac-cloud endpoint a walker (/docs), and the proxy at /v1/... for any client.

    Clients on this machine find their token by themselves; for others make one with `contextrender token create`.
    """
    settings = settings_of(config, given).settings
    from contextrender.server.serving import listen, serve

    listening = listen(settings.host, settings.port)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    where = f"http://{host}:{listening.getsockname()[1]}"
    click.echo(f"contextrender: serving on {where} (endpoints: {where}/docs, proxy: {where}/v1)", err=True)
    serve(settings, listening)
