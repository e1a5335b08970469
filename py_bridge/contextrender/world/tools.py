"""The tools of the world, all together: importing this module registers every app.

`execute(state, name, arguments)` runs a call; `tool_definitions()` is the `tools` list of a chat-completions request.
"""

from contextrender.world.apps import bills, calendar, docs, files, people, wallet
from contextrender.world.registry import ERRORS, TOOLS, Json, Tool, ToolError, execute

APPS = (docs, people, bills, wallet, files, calendar)

__all__ = ["APPS", "ERRORS", "TOOLS", "Tool", "ToolError", "execute", "tool_definitions"]


def tool_definitions() -> list[Json]:
    """Every tool in chat-completions form, in the order of the apps."""
    return [found.definition() for found in TOOLS.values()]
