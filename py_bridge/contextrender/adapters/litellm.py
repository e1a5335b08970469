"""LiteLLM's proxy: a hook that renders requests before they go to a provider.

    litellm_settings:
      callbacks: contextrender.adapters.litellm.hook

A request's conversation is told by `litellm_session_id` where there is one, else by its first message and its key.
"""

import asyncio
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from contextrender.adapters.context import Context, or_as_it_is
from contextrender.adapters.conversations import Conversations
from contextrender.client import Client
from contextrender.proxy.routes import LISTS

_CALLS = {
    "completion": "chat",
    "acompletion": "chat",
    "anthropic_messages": "messages",
    "responses": "responses",
    "aresponses": "responses",
}
"""LiteLLM's call types that are model calls -> wire format."""


class ContextRenderHook(CustomLogger):  # type: ignore[misc, unused-ignore]
    """client: where the sessions are; options: as of `Client.open_session`."""

    def __init__(self, client: Client | None = None, **options: Any) -> None:
        super().__init__()

        def make(name: str) -> Context:
            wire, _, rest = name.partition(":")
            session = rest.partition(":")[2]
            return Context(session and f"litellm:{name}", client, wire=wire, **options)

        self._conversations = Conversations(make)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any] | None:
        """The request with what is rendered; None leaves it."""
        wire = _CALLS.get(call_type, "")
        messages = data.get(LISTS.get(wire, ""))
        if not isinstance(messages, list) or not data.get("tools"):
            return None
        session = data.get("litellm_session_id") or ""
        caller = getattr(user_api_key_dict, "api_key", None) or ""
        name = f"{wire}:{caller}:{session}"

        def rewritten() -> list[Any]:
            return self._conversations.of(name, () if session else messages).rewritten(messages)

        return data | {LISTS[wire]: await asyncio.to_thread(or_as_it_is, rewritten, messages)}


hook = ContextRenderHook()
"""What LiteLLM's configuration names."""
