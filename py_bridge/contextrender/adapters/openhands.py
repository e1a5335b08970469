"""OpenHands: a condenser that renders the view of each step; the conversation's events are untouched.

    agent = Agent(llm=llm, tools=tools, condenser=ContextRenderCondenser())
"""

from collections.abc import Sequence
from typing import Any

from openhands.sdk.context.condenser.base import CondenserBase
from openhands.sdk.context.view import View
from openhands.sdk.event import ActionEvent, LLMConvertibleEvent, MessageEvent
from openhands.sdk.event.llm_convertible.observation import ObservationBaseEvent
from openhands.sdk.llm import LLM, ImageContent, TextContent
from openhands.sdk.llm import Message as LLMMessage
from pydantic import PrivateAttr

from contextrender.adapters.context import Context, or_as_it_is, placed
from contextrender.adapters.conversations import Conversations
from contextrender.trace import Message

Group = list[Any]
"""The events of one message: an answer's actions, or one event of another kind."""


class ContextRenderCondenser(CondenserBase):  # type: ignore[misc, unused-ignore]
    """options: as of `Client.open_session` (budget, policy, …); the server is this machine's, or the environment's."""

    options: dict[str, Any] = {}  # noqa: RUF012 - a pydantic field
    _conversations: Conversations | None = PrivateAttr(default=None)

    def condense(self, view: View, agent_llm: LLM | None = None) -> View:
        """The view with what is rendered."""
        return or_as_it_is(lambda: self._rendered(view), view)

    def _rendered(self, view: View) -> View:
        if self._conversations is None:
            self._conversations = Conversations(lambda name: Context(**self.options))
        groups = _grouped(view.events)
        sent = [chat_message(group) for group in groups]
        rendered = self._conversations.of("", sent).render(sent)
        if rendered is None:
            return view
        events = [event for group in placed(rendered, sent, groups, _made) for event in group]
        return View(events=events, unhandled_condensation_request=view.unhandled_condensation_request)


def _grouped(events: Sequence[LLMConvertibleEvent]) -> list[Group]:
    """As OpenHands itself puts events into messages: the actions of one answer together."""
    groups: list[Group] = []
    for event in events:
        answer = event.llm_response_id if isinstance(event, ActionEvent) else None
        if answer and groups and isinstance(groups[-1][0], ActionEvent) and groups[-1][0].llm_response_id == answer:
            groups[-1].append(event)
        else:
            groups.append([event])
    return groups


def chat_message(group: Group) -> Message:
    """A group in the form of Chat Completions; thinking stays with the original."""
    message = group[0].to_llm_message()
    content = [*_parts(message.content)]
    found: Message = {"role": message.role, "content": content}
    calls = [event.tool_call for event in group if isinstance(event, ActionEvent)]
    if calls:
        found["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    if isinstance(group[0], ObservationBaseEvent):
        found["tool_call_id"] = group[0].tool_call_id
    return found


def _parts(content: Sequence[Any]) -> list[Message]:
    found: list[Message] = []
    for part in content:
        if isinstance(part, TextContent):
            found.append({"type": "text", "text": part.text})
        elif isinstance(part, ImageContent):
            found.extend({"type": "image_url", "image_url": {"url": url}} for url in part.image_urls)
    return found


def _made(group: Group | None, message: Message) -> Group:
    """A note, or a group with fewer calls, without its prose, or with a short text."""
    content = message.get("content") or ""
    text = content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
    if group is None:
        said = LLMMessage(role="user", content=[TextContent(text=text)])
        return [MessageEvent(source="environment", llm_message=said)]
    first = group[0]
    if isinstance(first, ObservationBaseEvent):
        observation = first.observation.model_copy(update={"content": [TextContent(text=text)]})
        return [first.model_copy(update={"observation": observation})]
    kept = {call["id"] for call in message.get("tool_calls", ())}
    events = [event for event in group if not isinstance(event, ActionEvent) or event.tool_call_id in kept]
    if not isinstance(first, ActionEvent) or not events:
        return events
    # What the answer shares stands in its first action.
    shared = ("reasoning_content", "thinking_blocks", "responses_reasoning_item")
    update = {name: getattr(first, name) for name in shared} | {"thought": first.thought if text else []}
    return [events[0].model_copy(update=update), *events[1:]]
