"""OpenAI Chat Completions messages to and from events, loss-free.

The payload of an event is its message as JSON with two marks: TEXT_MARK where a string content equals the event's text,
and CALLS_MARK in place of `tool_calls`. Messages of the plain form need no payload.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from contextrender.errors import InputError
from contextrender.events import Call, Event

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
TEXT_MARK = "\x00text"
CALLS_MARK = "\x00calls"


def _dump(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate: keep it as an escape, so that every store can hold the payload
        return json.dumps(value, separators=(",", ":"))
    return text


def content_text(content: Any, where: str) -> str:
    """Text of a content: a string; the text parts of a list joined by a newline; "" for null."""
    match content:
        case None:
            return ""
        case str():
            return content
        case list():
            texts = [
                part if isinstance(part, str) else part.get("text")
                for part in content
                if part is not None
                if isinstance(part, str | Mapping)
            ]
            if len(texts) != len(content):
                raise InputError("a content part is not an object", where, "a list of objects with a type")
            return "\n".join(text for text in texts if isinstance(text, str))
    raise InputError(f"content is of type {type(content).__name__}", where, "a string, a list of parts, or null")


def _parse_call(call: Any, where: str) -> Call:
    if not isinstance(call, Mapping):
        raise InputError("a tool call is not an object", where, '{"id", "type", "function": {"name", "arguments"}}')
    body = call.get("function", call.get("custom"))
    if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
        raise InputError("a tool call without a function name", where, '{"function": {"name": str, "arguments": str}}')
    given = body.get("arguments", body.get("input", ""))
    arguments = given if isinstance(given, str) else _dump(given)
    call_id = call.get("id") or ""
    if not isinstance(call_id, str):
        raise InputError("the id of a tool call is not a string", where, "a string")
    plain = _plain_call(Call(body["name"], arguments, call_id))
    return Call(body["name"], arguments, call_id, "" if _same(plain, call) else _dump(call))


def _plain_call(call: Call) -> dict[str, Any]:
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _same(plain: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    return plain == given and _dump(plain) == _dump(given)


def parse_message(message: Any, where: str = "message") -> Event:
    """The event of one chat-completions message. Raises InputError naming `where` and what is accepted."""
    if not isinstance(message, Mapping):
        raise InputError(f"a message is of type {type(message).__name__}", where, 'an object with "role" and "content"')
    role = message.get("role")
    if role not in ROLES:
        raise InputError(f"unknown role {role!r}", f"{where}.role", ", ".join(ROLES))
    if any(not isinstance(key, str) for key in message):
        raise InputError("a key of the message is not a string", where, "string keys")
    content = message.get("content")
    text = content_text(content, f"{where}.content")
    listed = message.get("tool_calls")
    if listed is not None and not isinstance(listed, Sequence | tuple):
        raise InputError("tool_calls is not a list", f"{where}.tool_calls", "a list of tool calls, or null")
    calls = tuple(_parse_call(call, f"{where}.tool_calls[{i}]") for i, call in enumerate(listed or ()))
    call_id = message.get("tool_call_id") or ""
    if not isinstance(call_id, str):
        raise InputError("tool_call_id is not a string", f"{where}.tool_call_id", "a string")
    kind = "tool" if role in ("tool", "function") else role
    try:
        template = {
            key: TEXT_MARK
            if key == "content" and isinstance(content, str)
            else CALLS_MARK
            if key == "tool_calls" and calls
            else value
            for key, value in message.items()
        }
        payload = _dump(template)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the message is not JSON ({error})", where, "JSON values") from error
    plain = {"role": role, "content": TEXT_MARK}
    if kind == "tool":
        plain = {"role": "tool", "tool_call_id": call_id, "content": TEXT_MARK}
    what_it_says = content if isinstance(content, str) or content is None else template["content"]
    identity = [kind, what_it_says or "", [[call.call_id, call.name, call.arguments] for call in calls], call_id]
    name = message.get("name")
    return Event(
        kind,
        text,
        calls,
        call_id,
        name if isinstance(name, str) else "",
        "" if payload == _dump(plain) else payload,
        _dump(identity),
    )


def parse_messages(messages: Any, where: str = "messages") -> list[Event]:
    """Events of a whole message list, in order."""
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise InputError(f"messages is of type {type(messages).__name__}", where, "a list of chat messages")
    return [parse_message(message, f"{where}[{index}]") for index, message in enumerate(messages)]


def build_message(
    role: str, text: str, payload: str, call_id: str, calls: Sequence[Call], prose: bool = True
) -> dict[str, Any]:
    """The wire message of an event with only `calls` kept, and its text left out unless `prose`.

    With all calls and the text it is equal to what was parsed, key order included.
    """
    if not payload:
        if role == "tool":
            return {"role": "tool", "tool_call_id": call_id, "content": text}
        message: dict[str, Any] = {"role": role, "content": text}
    else:
        message = json.loads(payload)
        if message.get("content") == TEXT_MARK:
            message["content"] = text
    if not prose:
        message["content"] = None
    if message.get("tool_calls") == CALLS_MARK:
        if calls:
            message["tool_calls"] = [json.loads(call.payload) if call.payload else _plain_call(call) for call in calls]
        else:
            del message["tool_calls"]
    return message
