"""`contextrender proxy`: clients change their base URL and get ContextRender."""

from pathlib import Path
from typing import Any

import click

from contextrender.cli.options import PROXY, SERVER, setting_options, settings_of


@click.command("proxy")
@setting_options(*SERVER, *PROXY, "proxy_port")
@click.option("--port", metavar="PORT", help="The same as --proxy-port.")
def command(config: Path | None, port: str | None, **given: Any) -> None:
    """Stand between a client and its model provider: each request goes on with the history that its next step needs.

    Give clients http://127.0.0.1:PORT/v1 (Anthropic's: without /v1) as their base URL. Whatever fails here, the
    client's own bytes are sent. `contextrender serve` has the same proxy, beside the walkers.
    """
    given["proxy_port"] = given["proxy_port"] or port
    settings = settings_of(config, given).settings.model_copy(update={"host": "127.0.0.1", "workers": 1})
    from contextrender.proxy.settings import Upstreams
    from contextrender.server.serving import listen, serve

    upstreams = Upstreams.of(settings.upstream, settings.upstream_responses, settings.upstream_anthropic)
    listening = listen(settings.host, settings.proxy_port)
    where = f"http://{settings.host}:{listening.getsockname()[1]}"
    click.echo(f"contextrender: proxy on {where} for {upstreams.chat} and {upstreams.messages}", err=True)
    serve(settings, listening, walkers=False)
