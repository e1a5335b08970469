"""`contextrender demo`: record a run, replay it under a budget, show what happened."""

from pathlib import Path

import click


@click.command("demo")
@click.option("--policy", default="default", show_default=True, help="Name of a policy.")
@click.option("--budget", default=6000, show_default=True, type=click.IntRange(min=1), help="History tokens.")
@click.option(
    "--figure",
    default="demo.png",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the figure goes (.png or .svg).",
)
def command(policy: str, budget: int, figure: Path) -> None:
    """Record a run in a small app world, replay it call by call, and show what is kept, omitted and saved."""
    from rich.console import Console
    from rich.table import Table

    from contextrender.demo import draw, replay_world

    console = Console()
    with console.status("recording a run and replaying it"):
        demo = replay_world(policy, budget)
    table = Table(title=f"Settling a dinner bill, policy {demo.policy}, budget {demo.budget:,} tokens")
    for heading in ("turn", "the agent then does", "full history", "rendered", "results kept", "omitted", "back again"):
        table.add_column(heading, justify="left" if heading in ("the agent then does", "back again") else "right")
    for row in demo.rows:
        table.add_row(
            str(row.turn),
            row.action,
            f"{row.full:,}",
            f"{row.rendered:,}",
            str(row.kept),
            str(row.omitted),
            " ".join(row.back),
        )
    console.print(table)
    full, rendered = (sum(values) for values in zip(*((row.full, row.rendered) for row in demo.rows), strict=True))
    console.print(f"History tokens over the run: {rendered:,} instead of {full:,} ({1 - rendered / full:.0%} less).")
    console.print(
        f"Used late: {demo.late_ref} of turn {demo.late_turn}, again at turn {demo.late_used}: "
        f"{demo.late_text[:70]!r} …"
    )
    console.print(
        f"Recalled: {demo.recalled_ref}, omitted from the last render, whole from the graph: "
        f"{len(demo.recalled_text):,} characters."
    )
    draw(demo, figure)
    console.print(f"Figure: {figure}")
