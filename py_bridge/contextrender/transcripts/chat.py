"""OpenAI Chat Completions messages to and from events, loss-free.

The payload of an event is its message as JSON with two marks: TEXT_MARK where a string content equals the event's text,
and CALLS_MARK in place of `tool_calls` (or the older `function_call`). Messages of the plain form need no payload.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contextrender.errors import InputError
from contextrender.events import Call, Event
from contextrender.transcripts.format import Part, Reply, Unit, Usage, WireFormat, WireMessage
from contextrender.transcripts.identity import identity
from contextrender.transcripts.jsontext import checked_object, dump, dump_message, same, text_field
from contextrender.transcripts.pricing import AUDIO_TOKENS, file_tokens, openai_image_tokens, weigh
from contextrender.transcripts.sse import JsonStreamReader

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
TEXT_MARK = "\x00text"
CALLS_MARK = "\x00calls"
REASONING_FIELDS = ("reasoning", "reasoning_content", "reasoning_details", "reasoning_text", "thinking_blocks")
"""Where OpenAI-compatible servers put reasoning."""
PROSE_FIELDS = (*REASONING_FIELDS, "refusal", "audio")
"""What an assistant message says besides its content."""
_ANSWER_FIELDS = ("refusal", "annotations", "audio", "function_call", "tool_calls")
"""Fields of a response's message that say nothing when they are null or empty."""


def content_parts(content: Any, where: str) -> tuple[str, list[str], list[str], int]:
    """A content as (text, said, beside, media tokens).

    text: a string, or the text parts of a list joined by a newline, "" for null; said: what its identity is made of;
    beside: other text that the model reads.
    """
    match content:
        case None:
            return "", [], [], 0
        case str():
            return content, [content], [], 0
        case list():
            pass
        case _:
            raise InputError(
                f"content is of type {type(content).__name__}", where, "a string, a list of parts, or null"
            )
    texts: list[str] = []
    said: list[str] = []
    beside: list[str] = []
    tokens = 0
    for part in content:
        match part:
            case str(text) | {"text": str(text)}:
                texts.append(text)
                said.append(text)
                continue
            case Mapping():
                pass
            case _:
                raise InputError("a content part is not an object", where, "a list of objects with a type")
        bare = {key: value for key, value in part.items() if key != "cache_control"}
        said.append(dump_message(bare, where))
        more, price = part_price(bare)
        beside.append(more)
        tokens += price
    return "\n".join(texts), said, beside, tokens


def part_price(part: Mapping[str, Any]) -> tuple[str, int]:
    """Text to count, and tokens, of a content part without text."""
    match part:
        case {"type": "image_url", "image_url": {"url": str(url), **more}}:
            return "", openai_image_tokens(url, str(more.get("detail")))
        case {"type": "image_url" | "input_image", "image_url": str(url)}:
            return "", openai_image_tokens(url, str(part.get("detail")))
        case {"type": "image_url" | "input_image" | "image"}:
            return "", openai_image_tokens("")
        case {"type": "input_audio" | "audio"}:
            return "", AUDIO_TOKENS
        case {"type": "file" | "input_file"}:
            file = part.get("file", part)
            data = file.get("file_data") if isinstance(file, Mapping) else None
            return "", file_tokens(data if isinstance(data, str) else "")
        case {"type": "refusal", "refusal": str(text)}:
            return text, 0
    return weigh(part)


def _parse_call(call: Any, where: str) -> Call:
    if not isinstance(call, Mapping):
        raise InputError("a tool call is not an object", where, '{"id", "type", "function": {"name", "arguments"}}')
    body = call.get("function", call.get("custom"))
    if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
        raise InputError("a tool call without a function name", where, '{"function": {"name": str, "arguments": str}}')
    given = body.get("arguments", body.get("input", ""))
    arguments = given if isinstance(given, str) else dump_message(given, where)
    call_id = text_field(call, "id", where)
    plain = _plain_call(Call(body["name"], arguments, call_id))
    return Call(body["name"], arguments, call_id, "" if same(plain, call) else dump_message(call, where))


def _plain_call(call: Call) -> dict[str, Any]:
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _parse_calls(message: Mapping[str, Any], where: str) -> tuple[str, tuple[Call, ...]]:
    """The field that holds a message's calls ("" for none), and the calls."""
    listed = message.get("tool_calls")
    if listed is not None and not isinstance(listed, list | tuple):
        raise InputError("tool_calls is not a list", f"{where}.tool_calls", "a list of tool calls, or null")
    if listed:
        return "tool_calls", tuple(_parse_call(call, f"{where}.tool_calls[{i}]") for i, call in enumerate(listed))
    old = message.get("function_call")
    if message.get("role") == "assistant" and isinstance(old, Mapping) and isinstance(old.get("name"), str):
        arguments = text_field(old, "arguments", f"{where}.function_call")
        return "function_call", (Call(old["name"], arguments, "", dump_message(old, where)),)
    return "", ()


def parse_message(message: Any, where: str = "message") -> Event:
    """The event of one chat-completions message. Raises InputError naming `where` and what is accepted."""
    checked_object(message, "a message", where, 'an object with "role" and "content"')
    role = message.get("role")
    if role not in ROLES:
        raise InputError(f"unknown role {role!r}", f"{where}.role", ", ".join(ROLES))
    content = message.get("content")
    text, said, beside, tokens = content_parts(content, f"{where}.content")
    holder, calls = _parse_calls(message, where)
    call_id = text_field(message, "tool_call_id", where)
    kind = "tool" if role in ("tool", "function") else role
    template = dict(message)
    if isinstance(content, str):
        template["content"] = TEXT_MARK
    if holder:
        template[holder] = CALLS_MARK
    payload = dump_message(template, where)
    if kind == "assistant":
        for field in PROSE_FIELDS:
            if value := message.get(field):
                more, price = (value, 0) if isinstance(value, str) else weigh(value)
                beside.append(more)
                tokens += price
        if isinstance(refusal := message.get("refusal"), str):
            said.append(refusal)
    plain = {"role": role, "content": TEXT_MARK}
    if kind == "tool":
        plain = {"role": "tool", "tool_call_id": call_id, "content": TEXT_MARK}
    name = message.get("name")
    return Event(
        kind,
        text,
        calls,
        call_id,
        name if isinstance(name, str) else "",
        "" if payload == dump(plain) else payload,
        identity(kind, said, calls, call_id),
        "\n".join(filter(None, beside)),
        tokens,
    )


def parse_messages(messages: Any, where: str = "messages") -> list[Event]:
    """Events of a whole message list, in order."""
    ChatFormat().checked_list(messages, where)
    return [parse_message(message, f"{where}[{index}]") for index, message in enumerate(messages)]


def build_message(part: Part) -> dict[str, Any] | None:
    """The wire message of a part; None for a message of which nothing is left."""
    if not part.payload:
        if part.role == "tool":
            return {"role": "tool", "tool_call_id": part.call_id, "content": part.text}
        message: dict[str, Any] = {"role": part.role, "content": part.text}
    else:
        message = json.loads(part.payload)
        if message.get("content") == TEXT_MARK:
            message["content"] = part.text
    if message.get("tool_calls") == CALLS_MARK:
        message["tool_calls"] = [
            json.loads(call.payload) if call.payload else _plain_call(call) for call in part.calls.values()
        ]
        if not part.calls:
            del message["tool_calls"]
    elif message.get("function_call") == CALLS_MARK:
        message["function_call"] = json.loads(part.calls[0].payload) if part.calls else None
        if not part.calls:
            del message["function_call"]
    if part.whole or part.role != "assistant":
        return message
    if not part.prose:
        message["content"] = None
    for field in PROSE_FIELDS if not part.prose else REASONING_FIELDS:
        message.pop(field, None)
    left = message.get("content")
    empty = not left or (isinstance(left, str) and not left.strip())
    return None if empty and not part.calls and not any(message.get(field) for field in PROSE_FIELDS) else message


class ChatFormat(WireFormat):
    """OpenAI Chat Completions, and what speaks it: one event a message."""

    name = "chat"
    path = "/v1/chat/completions"

    def units(self, messages: Sequence[Any], start: int = 0) -> Iterator[Unit]:
        """One unit a message."""
        for index in range(start, len(messages)):
            yield Unit(index + 1, [parse_message(messages[index], f"messages[{index}]")])

    def history_of(self, body: Mapping[str, Any]) -> list[WireMessage]:
        """`messages`."""
        return list(self.checked_list(body.get("messages")))

    def with_history(self, body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The body with other `messages`."""
        return {**body, "messages": list(messages)}

    def build(self, parts: Sequence[Part]) -> list[WireMessage]:
        """One message a part; a note is a message of its own."""
        return [message for message in map(build_message, parts) if message is not None]

    def shortened(self, payload: str, text: str) -> str:
        """The message with a string content."""
        return json.dumps({**json.loads(payload), "content": TEXT_MARK}) if payload else ""

    def reply(self, response: Mapping[str, Any]) -> Reply:
        """The first choice."""
        match response:
            case {"choices": [{"message": Mapping() as message, **choice}, *_]}:
                return _reply(message, response, choice.get("finish_reason"), True)
        raise InputError("no choice with a message", "response", "a chat.completion object")

    def stream_reader(self) -> "ChatStreamReader":
        """Reads `chat.completion.chunk` objects."""
        return ChatStreamReader()

    def breaches(self, messages: Sequence[Mapping[str, Any]]) -> list[str]:
        """Each call answered by the messages right behind it, each result behind its call, no empty assistant."""
        found: list[str] = []
        waiting: list[str] = []
        for index, message in enumerate(messages):
            role = message.get("role")
            if role in ("tool", "function"):
                call_id = message.get("tool_call_id") or ""
                if call_id in waiting:
                    waiting.remove(call_id)
                else:
                    found.append(f"messages[{index}]: a result without its call")
                continue
            found += [f"messages[{index}]: a call before it has no result" for _ in waiting]
            waiting = [call.call_id for call in _parse_calls(message, "")[1]]
            if role == "assistant" and not waiting and not any(map(message.get, ("content", *PROSE_FIELDS))):
                found.append(f"messages[{index}]: an assistant message without content and calls")
        return found


def usage_of(usage: Any) -> Usage | None:
    """Usage of a chat response, with the dialects of DeepSeek, OpenRouter and LiteLLM."""
    if not isinstance(usage, Mapping):
        return None
    details = usage.get("prompt_tokens_details")
    details = details if isinstance(details, Mapping) else {}
    cached = _count(details, "cached_tokens") or _count(usage, "prompt_cache_hit_tokens", "cache_read_input_tokens")
    written = _count(details, "cache_write_tokens", "cache_creation_tokens") or _count(
        usage, "cache_creation_input_tokens"
    )
    whole = _count(usage, "prompt_tokens")
    return Usage(max(0, whole - cached - written), cached, written, _count(usage, "completion_tokens"))


def _count(values: Mapping[str, Any], *keys: str) -> int:
    """The first of these fields that is a number above 0."""
    found = (values.get(key) for key in keys)
    return next((value for value in found if isinstance(value, int) and value > 0), 0)


def _reply(message: Mapping[str, Any], response: Mapping[str, Any], stop: Any, complete: bool) -> Reply:
    sent = {key: value for key, value in message.items() if value or key not in _ANSWER_FIELDS}
    sent = {"role": "assistant", "content": None, **sent}
    return Reply(
        [sent],
        [parse_message(sent, "response")],
        usage_of(response.get("usage")),
        stop if isinstance(stop, str) else "",
        str(response.get("model") or ""),
        str(response.get("id") or ""),
        complete,
    )


class ChatStreamReader(JsonStreamReader):
    """Puts the deltas of choice 0 together."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: dict[str, list[str]] = {}
        self._lists: dict[str, list[Any]] = {}
        self._calls: dict[int, dict[str, Any]] = {}
        self._arguments: dict[int, list[str]] = {}
        self._seen: dict[str, Any] = {}
        self._stop: Any = None
        self._begun = False

    def take(self, event: dict[str, Any]) -> None:
        for key in ("id", "model", "usage"):
            if event.get(key):
                self._seen[key] = event[key]
        for choice in event.get("choices") or ():
            if choice.get("index", 0) != 0:
                continue
            self._begun = True
            self._stop = choice.get("finish_reason") or self._stop
            for key, value in (choice.get("delta") or {}).items():
                if key == "tool_calls":
                    for call in value or ():
                        self._take_call(call)
                elif isinstance(value, str) and key != "role":
                    self._texts.setdefault(key, []).append(value)
                elif isinstance(value, list):
                    self._lists.setdefault(key, []).extend(value)

    def _take_call(self, delta: Mapping[str, Any]) -> None:
        index = delta.get("index", len(self._calls))
        call = self._calls.setdefault(index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        function = delta.get("function") or {}
        call.update({key: value for key, value in delta.items() if value and key not in ("index", "function")})
        call["function"].update({key: value for key, value in function.items() if value and key != "arguments"})
        if isinstance(part := function.get("arguments"), str):
            self._arguments.setdefault(index, []).append(part)

    def reply(self) -> Reply | None:
        """The message of the deltas so far."""
        if not self._begun:
            return None
        message: dict[str, Any] = {key: "".join(texts) for key, texts in self._texts.items()}
        message = {"role": "assistant", "content": message.pop("content", "") or None, **message, **self._lists}
        calls: list[dict[str, Any]] = []
        for index, call in sorted(self._calls.items()):
            arguments = "".join(self._arguments.get(index, ()))
            if self._stop or _is_json(arguments):
                calls.append({**call, "function": {**call["function"], "arguments": arguments}})
        if calls:
            message["tool_calls"] = calls
        return _reply(message, self._seen, self._stop, bool(self._stop))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
