"""What both clients say to the server and how they read its answers. Pure, but for the local token's file."""

import copy
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from contextrender.errors import (
    AccessError,
    ContextRenderError,
    DivergedError,
    InputError,
    NotFoundError,
    UnavailableError,
)
from contextrender.trace import Explained, Message, Rendered, ResultTrace, ShownTrace, UsageTrace

Json = dict[str, Any]
TIMEOUT_SECONDS = 30.0
URL_VARIABLE, TOKEN_VARIABLE = "CONTEXTRENDER_URL", "CONTEXTRENDER_TOKEN"
_KINDS: dict[str, type[ContextRenderError]] = {
    "not_found": NotFoundError,
    "diverged": DivergedError,
    "access": AccessError,
}


@dataclass(frozen=True, slots=True)
class RemoteRendered(Rendered):
    """`full_tokens`: what the whole history would have counted, where the call was a sync."""

    full_tokens: int | None = None


def address(url: str | None, token: str | None) -> tuple[str, str]:
    """Base URL and token: as given, else of the environment, else this machine's server by the settings.

    Raises AccessError without a token.
    """
    url, found = url or os.environ.get(URL_VARIABLE), token or os.environ.get(TOKEN_VARIABLE)
    if url and found:
        return url.rstrip("/"), found
    from contextrender.settings import TOKEN_FILE, load

    settings = load().settings
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    where = (url or f"http://{host}:{settings.port}").rstrip("/")
    found = found or _local_token(settings.data / TOKEN_FILE)
    if not found:
        raise AccessError(
            f"no token: start `contextrender serve` on this machine, set {TOKEN_VARIABLE}, or give token="
        )
    return where, found


def _local_token(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def headers(token: str) -> dict[str, str]:
    """Of each request."""
    return {"authorization": f"Bearer {token}", "content-type": "application/json"}


def content(fields: Mapping[str, Any]) -> bytes:
    """A request's body. Raises InputError for what is no JSON."""
    try:
        return json.dumps(fields).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(str(error), "messages", "JSON values") from error


def path(walker: str) -> str:
    """Where a walker is served."""
    return f"/walker/{walker}"


def answer(response: httpx.Response) -> Json:
    """What a walker reported. Raises the error that the server told: the one that `Session` would have raised."""
    try:
        body = response.json()
        if response.is_success:
            report: Json = body["reports"][0]
            return report
        told = body["error"]
        message, kind = told["message"], told["type"]
    except (ValueError, KeyError, IndexError, TypeError):
        raise UnavailableError(f"{response.url.host} answered {response.status_code}, not as ContextRender") from None
    if kind == "input":
        raise InputError(message, told["where"], told["accepted"])
    raise _KINDS.get(kind, UnavailableError)(message)


def unreachable(error: httpx.HTTPError, url: str) -> UnavailableError:
    """The error for a server that didn't answer."""
    return UnavailableError(f"{url} didn't answer ({type(error).__name__}); is `contextrender serve` running?")


def rendered(report: Json) -> RemoteRendered:
    """A render out of an answer."""
    return RemoteRendered(
        report["messages"],
        report["tokens"],
        tuple(report["kept"]),
        tuple(report["omitted"]),
        report["over_budget"],
        report["snapshot_id"],
        tuple(report["sources"]),
        report.get("full_tokens"),
    )


def explained(report: Json) -> Explained:
    """A trace out of an answer."""
    parts = {
        "results": [ResultTrace(**item) for item in report["results"]],
        "shown": [ShownTrace(**item) for item in report["shown"]],
        "usage": UsageTrace(**report["usage"]) if report["usage"] else None,
    }
    return Explained(**{**report, **parts})


@dataclass(slots=True)
class Tail:
    """What the server has of the conversation that is synced, so that only what is new is sent."""

    known: Json | None = None
    _had: list[Message] = field(default_factory=list)

    def new(self, messages: Sequence[Message]) -> tuple[Sequence[Message], Json | None]:
        """(what to send, `known` to send with it): all of it where the conversation begins otherwise than before."""
        count = len(self._had)
        if self.known is None or len(messages) < count or list(messages[:count]) != self._had:
            return messages, None
        return messages[count:], self.known

    def has(self, messages: Sequence[Message], known: Json) -> None:
        """The server has these messages now."""
        same = len(self._had) if self.new(messages)[1] is not None else 0
        self._had[same:] = copy.deepcopy(list(messages[same:]))
        self.known = known
