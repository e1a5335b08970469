"""Which protocol a path belongs to, and whether its requests are model calls."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

TURNS = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}
"""Paths behind `/v1` whose POSTs are model calls -> their wire format."""
LISTS = {"chat": "messages", "responses": "input", "messages": "messages"}
"""By wire format, the field of a request that holds its history."""


@dataclass(frozen=True, slots=True)
class Route:
    """`rest` is the path behind `/v1`, percent-encoded as it came; `session` comes from a `/s/<key>` before it.

    `turn` says that a POST here is a model call; `wire` says whose protocol, and so which provider, the path is of.
    """

    wire: str
    rest: str
    turn: bool = False
    session: str = ""


def route(raw_path: str, headers: Mapping[str, str]) -> Route | None:
    """The route of a percent-encoded path, None for one that is not ours.

    Paths that both providers have (`/models`, `/files`) go to Anthropic when the headers are those of its clients.
    """
    session = ""
    if raw_path.startswith("/s/"):
        key, slash, after = raw_path[3:].partition("/")
        if not key or not slash:
            return None
        session, raw_path = unquote(key), f"/{after}"
    if not raw_path.startswith("/v1/"):
        return None
    rest = raw_path.removeprefix("/v1")
    if wire := TURNS.get(rest.rstrip("/")):
        return Route(wire, rest, True, session)
    if rest.startswith("/messages") or "anthropic-version" in headers:
        return Route("messages", rest, False, session)
    return Route("responses" if rest.startswith("/responses") else "chat", rest, False, session)
