"""LangChain and LangGraph: a middleware that renders what each model call is given; the agent's state is untouched.

    agent = create_agent(model, tools, middleware=[ContextRenderMiddleware(budget=6000)])

A run with a `thread_id` is the session of that name, so that a resumed thread goes on with it.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.config import get_config

from contextrender.adapters.context import Context, or_as_it_is, placed
from contextrender.adapters.conversations import Conversations
from contextrender.client import Client
from contextrender.trace import Message

_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}
_CALLS = ("tool_use", "tool_call", "function_call", "invalid_tool_call")
"""Content blocks that are a tool call."""


class ContextRenderMiddleware(AgentMiddleware):  # type: ignore[misc, type-arg, unused-ignore]
    """client: where the sessions are; options: as of `Client.open_session` (budget, policy, …)."""

    def __init__(self, client: Client | None = None, **options: Any) -> None:
        super().__init__()
        self._conversations = Conversations(
            lambda thread: Context(thread and f"langchain:{thread}", client=client, **options)
        )

    def wrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]
    ) -> ModelResponse:
        """Call the model with what is rendered."""
        thread = _thread()
        return handler(or_as_it_is(lambda: self._rendered(request, thread), request))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """Call the model with what is rendered."""
        thread = _thread()
        return await handler(await asyncio.to_thread(or_as_it_is, lambda: self._rendered(request, thread), request))

    def _rendered(self, request: ModelRequest, thread: str) -> ModelRequest:
        messages: Sequence[AnyMessage] = request.messages
        if not messages or any(message.type not in _ROLES for message in messages):
            return request
        sent = [chat_message(message) for message in messages]
        rendered = self._conversations.of(thread, () if thread else sent).render(sent)
        if rendered is None:
            return request
        return request.override(messages=placed(rendered, sent, messages, _made))


def _thread() -> str:
    configurable = get_config().get("configurable") or {}
    return str(configurable.get("thread_id") or "")


def chat_message(message: AnyMessage) -> Message:
    """A message in the form of Chat Completions; what has no place there (thinking, say) stays with the original."""
    content = message.content
    if not isinstance(content, str):
        blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]
        content = [block for block in blocks if block.get("type") in ("text", "image_url")]
    found: Message = {"role": _ROLES[message.type], "content": content}
    if isinstance(message, AIMessage) and message.tool_calls:
        found["tool_calls"] = [
            {
                "id": call["id"] or "",
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["args"], default=str)},
            }
            for call in message.tool_calls
        ]
    if isinstance(message, ToolMessage):
        found["tool_call_id"] = message.tool_call_id
    return found


def _made(given: AnyMessage | None, message: Message) -> AnyMessage:
    """A note, or a message with fewer calls, without its prose, or with a short text."""
    if given is None:
        text = message["content"]
        return SystemMessage(text) if message["role"] == "system" else HumanMessage(text)
    if not isinstance(given, AIMessage):
        return given.model_copy(update={"content": message["content"]})
    kept = {call["id"] for call in message.get("tool_calls", ())}
    content = given.content
    if isinstance(content, str):
        content = content if message.get("content") else ""
    else:
        content = [block for block in content if _stays(block, kept, bool(message.get("content")))]
    extra = {name: value for name, value in given.additional_kwargs.items() if name != "tool_calls"}
    calls = [call for call in given.tool_calls if (call["id"] or "") in kept]
    return given.model_copy(update={"content": content, "tool_calls": calls, "additional_kwargs": extra})


def _stays(block: str | dict[str, Any], kept: set[str], prose: bool) -> bool:
    if isinstance(block, str) or block.get("type") == "text":
        return prose
    if block.get("type") in _CALLS:
        return block.get("id") in kept or block.get("call_id") in kept
    return True
