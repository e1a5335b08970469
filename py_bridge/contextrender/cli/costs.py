"""`contextrender costs SESSION`: what its model calls cost, and what they would have cost with the full history."""

import json

import click
from rich.console import Console
from rich.table import Table


@click.command("costs")
@click.argument("session", required=False)
@click.option("--url", help="The server [default: this machine's].")
@click.option("--prices", help="A model, or paper, openai, anthropic, gemini, deepseek [default: the session's model].")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(session: str | None, url: str | None, prices: str | None, as_json: bool) -> None:
    """Show what a session's model calls cost, by the provider's counts, and what the full history would have cost.

    SESSION is what the proxy says in the header x-contextrender-session; without it all sessions are listed. Costs are
    in uncached input tokens.
    """
    from contextrender.client import Client

    with Client(url) as client:
        ids = [session] if session else [row["session"] for row in client.sessions()["sessions"]]
        bills = {name: client.session(name).costs(prices) for name in ids}
    if as_json:
        click.echo(json.dumps(bills, indent=2))
        return
    table = Table(box=None)
    for name in ("session", "calls", "input", "of it cached", "full history", "cost", "full cost", "saved"):
        table.add_column(name, justify="left" if name == "session" else "right")
    for name, bill in bills.items():
        usage = bill["usage"]
        whole = usage["uncached"] + usage["cached"] + usage["written"]
        share = f"{usage['cached'] / whole:.0%}" if whole else "-"
        saved = f"{bill['saved']:.0%}" if bill["counted"] else "-"
        calls = f"{bill['calls']}" if bill["calls"] == bill["counted"] else f"{bill['counted']} of {bill['calls']}"
        costs = (f"{bill['cost']:,.0f}", f"{bill['full_cost']:,.0f}")
        table.add_row(name, calls, f"{whole:,}", share, f"{bill['full_input']:,}", *costs, saved)
    Console().print(table)
