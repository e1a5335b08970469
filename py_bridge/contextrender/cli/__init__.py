"""The command line. Commands are imported when they are used, so that `--help` is quick."""

import sys
from importlib import import_module

import click

from contextrender import __version__
from contextrender.errors import ContextRenderError

COMMANDS = {
    "benchmark": "Run agents with a model in the loop and compare methods: scores, tokens, costs.",
    "connect": "Set up a client program for the running server, or take it back.",
    "config": "Show the settings in force, and where each came from.",
    "costs": "Show what a session's model calls cost, beside what the full history would have cost.",
    "demo": "Record a run in a small app world, replay it, and show what is kept, omitted and saved.",
    "doctor": "Check a data folder, and repair what can be.",
    "eval": "Replay recorded runs with several selectors: recall of later-used results, and cost.",
    "import": "Turn sessions of coding agents and benchmark results into one file of traces.",
    "proxy": "Stand between a client and its provider: each request goes on with the history that is needed.",
    "replay": "Show one recorded run turn by turn: what is kept, restored and omitted.",
    "serve": "Serve sessions over HTTP, and the proxy beside them.",
    "token": "Make, list and revoke tokens of the server.",
}
"""Command -> its one line of help; each lives in contextrender.cli.<command> as `command`."""

MODULES = {"import": "import_"}
"""Commands whose name is no name of a module."""


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"contextrender.cli.{MODULES.get(cmd_name, cmd_name)}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command("contextrender", cls=_Commands)
@click.version_option(__version__)
def group() -> None:
    """Keep an agent's whole history in a graph and render what the next model call needs."""


def main() -> None:
    """Run the command line. A deliberate error is one line on stderr and exit code 2; Ctrl-C exits 130."""
    try:
        sys.exit(group(standalone_mode=False))  # click returns the code of an Exit raised by a command
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo("stopped", err=True)
        sys.exit(130)
    except (ContextRenderError, OSError) as error:
        click.echo(f"contextrender: {error}", err=True)
        sys.exit(2)
