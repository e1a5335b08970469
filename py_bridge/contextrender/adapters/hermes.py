"""Hermes Agent: a plugin whose middleware renders each request; Hermes' own session is untouched.

`contextrender connect hermes` puts it in place: a folder in $HERMES_HOME/plugins whose `register` is this one.
"""

from typing import Any

from contextrender.adapters.context import Context, or_as_it_is
from contextrender.adapters.conversations import Conversations
from contextrender.client import Client

_MODES = {
    "chat_completions": ("chat", "messages"),
    "anthropic_messages": ("messages", "messages"),
    "codex_responses": ("responses", "input"),
}
"""Hermes' api_mode -> wire format, and the field that holds the history."""


class Middleware:
    """Renders requests; client and options as of `Client.open_session`."""

    def __init__(self, client: Client | None = None, **options: Any) -> None:
        def make(name: str) -> Context:
            mode, _, session = name.partition(":")
            return Context(session and f"hermes:{name}", client, wire=_MODES[mode][0], **options)

        self._conversations = Conversations(make)

    def __call__(
        self, request: dict[str, Any], session_id: str = "", api_mode: str = "chat_completions", **_: Any
    ) -> dict[str, Any] | None:
        """{request} with what is rendered; None leaves it."""
        field = _MODES.get(api_mode, ("", ""))[1]
        messages = request.get(field)
        if not isinstance(messages, list) or not request.get("tools"):  # a title, say
            return None
        name = f"{api_mode}:{session_id}"
        sent = or_as_it_is(
            lambda: self._conversations.of(name, () if session_id else messages).rewritten(messages), messages
        )
        return {"request": request | {field: sent}}


def register(hermes: Any) -> None:
    """What Hermes calls when it loads the plugin."""
    hermes.register_middleware("llm_request", Middleware())
