"""`contextrender import`: recorded runs of other programs, as one file of traces."""

import json
from collections.abc import Iterator
from pathlib import Path

import click


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="JSON lines to write.")
@click.option("--keep-going", is_flag=True, help="Report what can't be read and go on.")
def command(files: tuple[Path, ...], out: Path, keep_going: bool) -> None:
    """Read sessions of Claude Code, Codex, opencode, SWE-agent, mini-swe-agent, tau-bench, OpenHands, or request
    bodies, and write them as traces: {"id", "source", "messages"}, a line each, in chat form."""
    from contextrender.evaluation.files import write_lines
    from contextrender.evaluation.traces import read_traces

    skip = (lambda error: click.echo(f"skipped: {error}", err=True)) if keep_going else None
    count = 0

    def lines() -> Iterator[str]:
        nonlocal count
        for path in files:
            for trace in read_traces(path, skip):
                count += 1
                yield json.dumps(
                    {"id": trace.name, "source": path.name, "messages": trace.messages}, ensure_ascii=False
                )

    if not out.parent.is_dir():
        raise click.UsageError(f"the folder of {out} does not exist")
    write_lines(out, lines())
    click.echo(f"{count} runs in {out}")
