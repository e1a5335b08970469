"""Which conversation a request belongs to, by what it carries; and whether it is one at all. Pure.

In this order: our own header, the ids that client programs send, the prompt cache key, a key in the URL's path. Where
there is none of these the opening tells (`transcript.Transcript.opening`): the messages up to the first answer.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SESSION_HEADER = "x-contextrender-session"
_CLAUDE_USER = re.compile(r"_session_([0-9a-fA-F-]{8,})$")


@dataclass(frozen=True, slots=True)
class Recognised:
    """`key` names the conversation among those of one owner, "" where the request names none.

    `aside` says that the request is the program's own business (a title, a topic, its own compaction) and no turn.
    """

    key: str
    aside: bool = False


def recognise(headers: Mapping[str, str], fields: Mapping[str, Any], path_key: str = "") -> Recognised:
    """What a request tells of its conversation. headers: names in lower case; fields: the body."""
    if own := headers.get(SESSION_HEADER):
        return Recognised(f"own:{own}")
    for program in (_codex, _claude_code, _opencode):
        if found := program(headers, fields):
            return found
    if litellm := headers.get("x-litellm-session-id"):
        return Recognised(f"litellm:{litellm}")
    if isinstance(cache_key := fields.get("prompt_cache_key"), str) and cache_key:
        return Recognised(f"cache:{cache_key}")
    return Recognised(f"path:{path_key}" if path_key else "")


def _without_tools(fields: Mapping[str, Any]) -> bool:
    return not fields.get("tools")


def _codex(headers: Mapping[str, str], fields: Mapping[str, Any]) -> Recognised | None:
    """Codex: a thread of a session; its turn metadata says what kind of request it is."""
    told = _object(headers.get("x-codex-turn-metadata"))
    thread = headers.get("thread-id") or headers.get("thread_id") or _text(told, "thread_id")
    session = headers.get("session-id") or headers.get("session_id") or _text(told, "session_id")
    if not (thread or session) or not any(name.startswith("x-codex-") for name in headers):
        return None
    return Recognised(f"codex:{thread or session}", _text(told, "request_kind") not in ("", "turn"))


def _claude_code(headers: Mapping[str, str], fields: Mapping[str, Any]) -> Recognised | None:
    """Claude Code: subagents share the session's id and have one of their own besides."""
    session = headers.get("x-claude-code-session-id")
    if not session:
        metadata = fields.get("metadata")
        user = _text(metadata, "user_id") if isinstance(metadata, Mapping) else ""
        old = _CLAUDE_USER.search(user)
        session = _text(_object(user), "session_id") or (old.group(1) if old else "")
    if not session:
        return None
    agent = headers.get("x-claude-code-agent-id", "")
    return Recognised(f"claude-code:{session}:{agent}", _without_tools(fields))


def _opencode(headers: Mapping[str, str], fields: Mapping[str, Any]) -> Recognised | None:
    """opencode: a subagent has a session of its own."""
    session = headers.get("x-session-id") or headers.get("x-session-affinity")
    return Recognised(f"opencode:{session}", _without_tools(fields)) if session else None


def _object(text: str | None) -> Mapping[str, Any]:
    try:
        value = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, Mapping) else {}


def _text(values: Mapping[str, Any], key: str) -> str:
    found = values.get(key)
    return found if isinstance(found, str) else ""
