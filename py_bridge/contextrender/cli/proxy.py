"""`contextrender proxy`: clients change their base URL and get ContextRender."""

from pathlib import Path

import click

from contextrender.proxy.settings import DEFAULT_PORT, ProxySettings, Upstreams


@click.command("proxy")
@click.option("--upstream", help="Base URL of the provider [default: OpenAI and Anthropic, each for its formats].")
@click.option("--upstream-responses", help="Base URL for /v1/responses, where it is another one.")
@click.option("--upstream-anthropic", help="Base URL for /v1/messages, where it is another one.")
@click.option("--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(0, 65535), help="On 127.0.0.1.")
@click.option("--budget", default=6000, show_default=True, type=click.IntRange(min=1), help="History tokens.")
@click.option("--policy", default="default", show_default=True, help="Name of a policy.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the store [default: the user's data folder].")
@click.option("--render-ms", default=250, show_default=True, type=click.IntRange(min=1), help="Longest render.")
@click.option("--max-body", default=64, show_default=True, type=click.IntRange(min=1), help="MiB of a request.")
def command(
    upstream: str | None,
    upstream_responses: str | None,
    upstream_anthropic: str | None,
    port: int,
    budget: int,
    policy: str,
    data: Path | None,
    render_ms: int,
    max_body: int,
) -> None:
    """Stand between a client and its model provider: each request goes on with the history that its next step needs.

    Give clients http://127.0.0.1:PORT/v1 (Anthropic's: without /v1) as their base URL. Whatever fails here, the
    client's own bytes are sent.
    """
    from contextrender.policy import policy_by_name
    from contextrender.server.platform import data_folder, start

    platform = start(data or data_folder())  # before anything that loads the graph
    from contextrender.proxy.serving import HOST, listen, serve

    policy_by_name(policy)
    upstreams = Upstreams.of(upstream, upstream_responses, upstream_anthropic)
    settings = ProxySettings(upstreams, budget, policy, render_seconds=render_ms / 1000, max_body=max_body << 20)
    listening = listen(port)
    where = f"http://{HOST}:{listening.getsockname()[1]}"
    click.echo(f"contextrender: proxy on {where} for {upstreams.chat} and {upstreams.messages}", err=True)
    serve(settings, listening, platform)
