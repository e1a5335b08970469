"""Agents without tool calls (AppWorld's ReAct agent, ACON's): code in the answer, its output in a user message.

Each answer with the observation behind it is one step, so that a step is kept or left out whole.
"""

from collections.abc import Sequence

from contextrender.adapters.context import Context, or_as_it_is, placed
from contextrender.trace import Message


def rendered_text(context: Context, messages: Sequence[Message], lead: int) -> list[Message]:
    """The messages to send instead of these, each one of those given or a note of ours; never fewer than the lead.

    lead: how many in front are instructions and examples, which are always sent as they are. Where the last of them is
    a user's, it is the task, and the render begins with it.
    """
    return or_as_it_is(lambda: _rendered(context, messages, lead), list(messages))


def _rendered(context: Context, messages: Sequence[Message], lead: int) -> list[Message]:
    if lead and messages[lead - 1]["role"] == "user":
        lead -= 1
    body = list(messages[lead:])
    if not body:
        return list(messages)
    sent = [_event(body, number) for number in range(len(body))]
    rendered = context.render(sent)
    if rendered is None:
        return list(messages)
    return [*messages[:lead], *placed(rendered, sent, body, lambda given, message: given or _note(message))]


def _event(messages: Sequence[Message], number: int) -> Message:
    """A message as Chat Completions with tools would have it: an answer that was acted on is a call."""
    message = messages[number]
    text, before = message.get("content") or "", messages[number - 1] if number else None
    if message["role"] == "assistant" and number + 1 < len(messages) and messages[number + 1]["role"] == "user":
        function = {"name": "act", "arguments": text}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"act{number}", "type": "function", "function": function}],
        }
    if message["role"] == "user" and before is not None and before["role"] == "assistant":
        return {"role": "tool", "tool_call_id": f"act{number - 1}", "content": text}
    return {"role": message["role"], "content": text}


def _note(message: Message) -> Message:
    return {"role": "user", "content": message["content"]}
