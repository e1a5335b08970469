"""`contextrender replay`: one recorded run, turn by turn."""

from pathlib import Path

import click

from contextrender.endpoint import default_embedder


@click.command("replay")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--trace", "wanted", help="The id of the run; the first by default.")
@click.option("--policy", "--selector", "policy", default="default", show_default=True, help="Name of a policy.")
@click.option("--budget", default=6000, show_default=True, type=click.IntRange(min=1), help="History tokens.")
@click.option("--embedder", default=default_embedder, help="wordllama (default), hash, litellm:<model>.")
def command(file: Path, wanted: str | None, policy: str, budget: int, embedder: str) -> None:
    """Show a recorded run turn by turn: what is kept, restored and omitted and why; tokens against full history."""
    from rich.console import Console
    from rich.table import Table

    from contextrender.errors import NotFoundError
    from contextrender.evaluation.traces import read_traces
    from contextrender.session import Session

    trace = next((trace for trace in read_traces(file) if wanted in (None, trace.name)), None)
    if trace is None:
        names = ", ".join(trace.name for trace in read_traces(file))
        raise NotFoundError(f"no trace {wanted!r} in {file}; there are: {names[:1000]}")
    session = Session(policy, budget, embedder)
    table = Table(title=f"{trace.name}: policy {policy}, B = {budget:,}")
    for heading in (
        "turn",
        "full",
        "rendered",
        "render",
        "kept",
        "restored",
        "newly omitted, with its score and largest terms",
    ):
        table.add_column(heading, justify="right" if heading in ("turn", "full", "rendered", "kept") else "left")
    omitted: set[str] = set()
    turn = full = rendered_total = 0
    for position, message in enumerate(trace.messages):
        if message["role"] != "assistant":
            continue
        turn += 1
        session.ingest(trace.messages[:position], whole=True)
        rendered = session.render()
        now = set(rendered.omitted)
        back = [ref for ref in rendered.kept if ref in omitted]
        why, reason = [], "whole"
        if now or omitted:
            explained = session.explain(rendered.snapshot_id)
            reason = explained.reason
            for result in explained.results:
                if result.ref in now - omitted:
                    terms = sorted(result.terms.items(), key=lambda item: -abs(item[1]))[:3]
                    parts = " ".join(f"{name} {value:+.2f}" for name, value in terms)
                    why.append(f"{result.ref} {result.tool} {result.score:.3f} ({parts})")
        omitted = now
        tokens = session.history.budgeted_tokens()
        full, rendered_total = full + tokens, rendered_total + rendered.tokens
        table.add_row(
            str(turn),
            f"{tokens:,}",
            f"{rendered.tokens:,}",
            reason,
            str(len(rendered.kept)),
            " ".join(back),
            "\n".join(why),
        )
    console = Console()
    console.print(table)
    if full:
        console.print(f"history tokens over the run: {rendered_total:,} of {full:,} ({rendered_total / full:.0%})")
