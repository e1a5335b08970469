"""Pydantic AI: a capability that renders what each model request is given; the run's history is untouched.

    agent = Agent(model, capabilities=[ContextRender(budget=6000)])

Or around one model, for every agent that uses it: `Agent(ContextRenderModel(model))`.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.wrapper import WrapperModel

from contextrender.adapters.context import Context, or_as_it_is, placed
from contextrender.adapters.conversations import Conversations
from contextrender.client import Client
from contextrender.trace import Message

Unit = tuple[int, Any]
"""The number of the message, and what of it is one chat message: a request's part, or a whole response."""


class _Renders:
    """Renders message lists; a conversation's name is that of the run."""

    def __init__(self, client: Client | None, options: dict[str, Any]) -> None:
        self._conversations = Conversations(
            lambda name: Context(name and f"pydantic-ai:{name}", client, **options)
        )

    async def rendered(self, messages: list[ModelMessage], name: str = "") -> list[ModelMessage]:
        return await asyncio.to_thread(or_as_it_is, lambda: self._rendered(messages, name), messages)

    def _rendered(self, messages: list[ModelMessage], name: str) -> list[ModelMessage]:
        units: list[Unit] = []
        for number, message in enumerate(messages):
            units += [(number, part) for part in (message.parts if isinstance(message, ModelRequest) else [message])]
        sent = [chat_message(part) for _, part in units]
        found = self._conversations.of(name, () if name else sent).render(sent)
        return messages if found is None else _regrouped(messages, placed(found, sent, units, _made))


class ContextRender(AbstractCapability[Any]):  # type: ignore[misc, unused-ignore]
    """client: where the sessions are; options: as of `Client.open_session` (budget, policy, …)."""

    def __init__(self, client: Client | None = None, **options: Any) -> None:
        self._renders = _Renders(client, options)

    async def wrap_model_request(self, ctx: Any, *, request_context: Any, handler: Any) -> Any:
        """Ask the model with what is rendered."""
        name = ctx.conversation_id or ctx.run_id or ""
        messages = await self._renders.rendered(request_context.messages, name)
        return await handler(replace(request_context, messages=messages))


class ContextRenderModel(WrapperModel):  # type: ignore[misc, unused-ignore]
    """A model whose requests are rendered first; options as of `ContextRender`."""

    def __init__(self, wrapped: Any, client: Client | None = None, **options: Any) -> None:
        super().__init__(wrapped)
        self._renders = _Renders(client, options)

    async def request(self, messages: list[ModelMessage], model_settings: Any, parameters: Any) -> ModelResponse:
        """Ask the model with what is rendered."""
        return await super().request(await self._renders.rendered(messages), model_settings, parameters)

    @asynccontextmanager
    async def request_stream(
        self, messages: list[ModelMessage], model_settings: Any, parameters: Any, run_context: Any = None
    ) -> AsyncIterator[Any]:
        """Ask the model with what is rendered."""
        rendered = await self._renders.rendered(messages)
        async with super().request_stream(rendered, model_settings, parameters, run_context) as stream:
            yield stream


def chat_message(part: Any) -> Message:
    """A part or response in the form of Chat Completions; thinking and server tools stay with the original.

    Raises TypeError for a kind of part that is not known here: then the request goes out as it is.
    """
    match part:
        case SystemPromptPart():
            return {"role": "system", "content": part.content}
        case UserPromptPart():
            return {"role": "user", "content": _content(part.content)}
        case ToolReturnPart():
            return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
        case RetryPromptPart() if part.tool_name:
            return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response()}
        case RetryPromptPart():
            return {"role": "user", "content": part.model_response()}
        case ModelResponse():
            found: Message = {"role": "assistant", "content": _text(part)}
            calls = [one for one in part.parts if isinstance(one, ToolCallPart)]
            if calls:
                found["tool_calls"] = [
                    {
                        "id": call.tool_call_id,
                        "type": "function",
                        "function": {"name": call.tool_name, "arguments": call.args_as_json_str()},
                    }
                    for call in calls
                ]
            return found
    raise TypeError(f"a {type(part).__name__} is not known")


def _text(response: ModelResponse) -> str:
    return "\n".join(part.content for part in response.parts if isinstance(part, TextPart))


def _content(content: str | Sequence[Any]) -> str | list[Message]:
    if isinstance(content, str):
        return content
    found: list[Message] = []
    for part in content:
        if isinstance(part, str):
            found.append({"type": "text", "text": part})
        elif isinstance(part, ImageUrl):
            found.append({"type": "image_url", "image_url": {"url": part.url}})
        else:
            raise TypeError(f"a {type(part).__name__} is not known")
    return found


def _made(unit: Unit | None, message: Message) -> Unit:
    """A note, or a unit with fewer calls, without its prose, or with a short text."""
    if unit is None:
        kind = SystemPromptPart if message["role"] == "system" else UserPromptPart
        return -1, kind(content=message["content"])
    number, part = unit
    if not isinstance(part, ModelResponse):
        return number, replace(part, content=message["content"])
    kept = {call["id"] for call in message.get("tool_calls", ())}
    prose = bool(message.get("content"))
    parts = [
        one
        for one in part.parts
        if (one.tool_call_id in kept if isinstance(one, ToolCallPart) else prose or not isinstance(one, TextPart))
    ]
    return number, replace(part, parts=parts)


def _regrouped(messages: list[ModelMessage], units: Sequence[Unit]) -> list[ModelMessage]:
    """Messages out of what is shown of them; a note stands in a request, whose instructions are the last one's."""
    found: list[tuple[int, ModelMessage]] = []
    for number, part in units:
        if isinstance(part, ModelResponse):
            found.append((number, part))
        elif found and isinstance(found[-1][1], ModelRequest) and number in (-1, found[-1][0]):
            at, last = found[-1]
            found[-1] = at, replace(last, parts=[*last.parts, part])
        else:
            given = messages[number] if number >= 0 else messages[-1]
            found.append((number, replace(given, parts=[part])))
    return [message for _, message in found]
