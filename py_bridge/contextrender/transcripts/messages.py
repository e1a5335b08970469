"""Anthropic Messages to and from events, loss-free.

A user message is its tool results (one event each) and what stands around them (user events); joined again when built.
The payload of an event: `f` the message without its content, where it is more than a role; `s` for a string content;
`j` for an event that goes on with the message of the event before; `b` its blocks, texts and calls as marks.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contextrender.errors import InputError
from contextrender.events import Call, Event
from contextrender.transcripts.format import Part, Reply, Unit, Usage, WireFormat, WireMessage
from contextrender.transcripts.identity import identity
from contextrender.transcripts.jsontext import checked_object, dump, dump_message, same, text_field
from contextrender.transcripts.pricing import anthropic_image_tokens, file_tokens, sealed_tokens, weigh
from contextrender.transcripts.sse import JsonStreamReader

TOP = "\x00system"
"""Role of the message that stands for a request's top-level `system`; has no content where the request has none."""
TOP_NOTE = "\x00system_note"
"""Role of our own text behind it."""
ROLES = ("user", "assistant", "system", TOP)
BREAKPOINTS = 4
"""The most `cache_control` marks that the API takes in one request."""
THINKING = ("thinking", "redacted_thinking")
_BLOCKS = "a string or a list of content blocks"
_CALL = "\x00call"
_TEXT = "\x00text:"
_NEXT = "\x00next"


class _Reading:
    """What the blocks of one event say, collected in order."""

    def __init__(self) -> None:
        self.text = ""
        self._texts = 0
        self.said: list[str] = []
        self.beside: list[str] = []
        self.tokens = 0
        self.calls: list[Call] = []

    def add_text(self, text: str) -> str:
        """The mark of a text that is appended."""
        start = len(self.text) + 1 if self._texts else 0
        self.text = f"{self.text}\n{text}" if self._texts else text
        self._texts += 1
        self.said.append(text)
        return f"{_TEXT}{start}:{start + len(text)}"

    def add(self, block: Any, where: str) -> Any:
        """The template of a block, its text and price taken."""
        block = checked_object(block, "a content block", where, "a list of objects with a type")
        match block:
            case {"type": "text", "text": str(text)}:
                return {**block, "text": self.add_text(text)}
            case {"type": "tool_use", "name": str(name)}:
                return self._add_call(block, name, where)
            case {"type": "thinking", "thinking": str(text)}:
                self.beside.append(text)
                self.tokens += 0 if text else sealed_tokens(str(block.get("signature") or ""))
            case {"type": "redacted_thinking"}:
                self.tokens += sealed_tokens(str(block.get("data") or ""))
            case _:
                bare = {key: value for key, value in block.items() if key != "cache_control"}
                self.said.append(dump_message(bare, where))
                more, price = block_price(bare)
                self.beside.append(more)
                self.tokens += price
        return dict(block)

    def _add_call(self, block: Mapping[str, Any], name: str, where: str) -> str:
        arguments = dump_message(block.get("input", {}), where)
        call = Call(name, arguments, text_field(block, "id", where))
        payload = "" if same(_plain_call(call), block) else dump_message(block, where)
        self.calls.append(Call(name, arguments, call.call_id, payload))
        return f"{_CALL}{len(self.calls) - 1}"

    def event(self, role: str, payload: Mapping[str, Any], call_id: str = "") -> Event:
        """The event of what was read; `payload` is empty for a plain string message."""
        return Event(
            role,
            self.text,
            tuple(self.calls),
            call_id,
            "",
            dump(payload) if payload else "",
            identity(role, self.said, self.calls, call_id),
            "\n".join(filter(None, self.beside)),
            self.tokens,
        )


def _plain_call(call: Call) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.call_id, "name": call.name, "input": json.loads(call.arguments)}


def block_price(block: Mapping[str, Any]) -> tuple[str, int]:
    """Text to count, and tokens, of a block that is neither text, call nor thinking."""
    match block:
        case {"type": "image"}:
            source = block.get("source")
            data = source.get("data") if isinstance(source, Mapping) else None
            return "", anthropic_image_tokens(data if isinstance(data, str) else "")
        case {"type": "document", "source": {"type": "text", "data": str(text)}}:
            return text, 0
        case {"type": "document"}:
            source = block.get("source")
            data = source.get("data") if isinstance(source, Mapping) else None
            return "", file_tokens(data if isinstance(data, str) else "")
    return weigh(block)


def _frame(message: Mapping[str, Any], role: str, where: str) -> dict[str, Any]:
    """`{"f": message without content}` where that is more than a role, else {}."""
    frame = {key: None if key == "content" else value for key, value in message.items()}
    plain = {"role": role, "content": None}
    return {} if list(frame) == list(plain) and frame == plain else {"f": json.loads(dump_message(frame, where))}


def parse_message(message: Any, where: str = "message") -> list[Event]:
    """The events of one message. Raises InputError naming `where` and what is accepted."""
    checked_object(message, "a message", where, 'an object with "role" and "content"')
    role = message.get("role")
    if role not in ROLES:
        raise InputError(f"unknown role {role!r}", f"{where}.role", "user, assistant, system")
    kind = "system" if role == TOP else role
    frame = _frame(message, kind, where)
    content = message.get("content")
    if isinstance(content, str) or content is None:
        read = _Reading()
        if content is not None:
            read.add_text(content)
        extra = {**frame, "s": 1} if frame else {}
        return [read.event(kind, extra if content is not None else {**frame, "s": 0})]
    if not isinstance(content, list):
        raise InputError(f"content is of type {type(content).__name__}", f"{where}.content", _BLOCKS)
    if kind != "user":
        read = _Reading()
        blocks = [read.add(block, f"{where}.content[{i}]") for i, block in enumerate(content)]
        return [read.event(kind, {**frame, "b": blocks})]
    return _user_events(content, frame, where)


def _user_events(content: Sequence[Any], frame: Mapping[str, Any], where: str) -> list[Event]:
    events: list[Event] = []
    run, blocks = _Reading(), []
    for i, block in enumerate(content):
        place = f"{where}.content[{i}]"
        if not isinstance(block, Mapping) or block.get("type") != "tool_result":
            blocks.append(run.add(block, place))
            continue
        if blocks:
            events.append(run.event("user", _joined(events, frame, blocks)))
            run, blocks = _Reading(), []
        result = _Reading()
        call_id = text_field(block, "tool_use_id", place)
        inner = block.get("content")
        template = dict(block)
        if isinstance(inner, str):
            template["content"] = result.add_text(inner)
        elif isinstance(inner, list):
            template["content"] = [result.add(item, f"{place}.content") for item in inner]
            if result.calls:
                raise InputError("a tool_use inside a tool_result", place, "text, image and document blocks")
        dump_message(template, place)
        events.append(result.event("tool", _joined(events, frame, [template]), call_id))
    if blocks or not events:
        events.append(run.event("user", _joined(events, frame, blocks)))
    return events


def _joined(events: Sequence[Event], frame: Mapping[str, Any], blocks: list[Any]) -> dict[str, Any]:
    return {**frame, **({"j": 1} if events else {}), "b": blocks}


def _open_server_uses(message: Any) -> bool:
    """Whether an assistant message ends with a server tool's use that has no result yet (`pause_turn`)."""
    waiting: set[Any] = set()
    content = message.get("content") if isinstance(message, Mapping) else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping):
            kind = str(block.get("type"))
            if kind.endswith("tool_use") and kind != "tool_use":
                waiting.add(str(block.get("id")))
            elif kind.endswith("tool_result"):
                waiting.discard(str(block.get("tool_use_id")))
    return bool(waiting)


def _filled(template: Any, text: str) -> Any:
    """A template with its text marks replaced."""
    match template:
        case str() if template.startswith(_TEXT):
            start, end = template[len(_TEXT) :].split(":")
            return text[int(start) : int(end)]
        case {"type": "text", "text": str(mark)} if mark.startswith(_TEXT):
            return {**template, "text": _filled(mark, text)}
        case {"type": "tool_result", "content": str(mark)} if mark.startswith(_TEXT):
            return {**template, "content": _filled(mark, text)}
        case {"type": "tool_result", "content": list(inner)}:
            return {**template, "content": [_filled(item, text) for item in inner]}
    return template


def _framed(frame: Mapping[str, Any] | None, role: str, content: Any) -> WireMessage:
    if frame is None:
        return {"role": role, "content": content}
    return {key: content if key == "content" else value for key, value in frame.items()}


def _assistant_blocks(part: Part, templates: Sequence[Any]) -> list[Any]:
    """The kept blocks of an assistant message."""
    kept: list[Any] = []
    for template in templates:
        if isinstance(template, str) and template.startswith(_CALL):
            call = part.calls.get(int(template[len(_CALL) :]))
            if call is not None:
                kept.append(json.loads(call.payload) if call.payload else _plain_call(call))
            continue
        block = _filled(template, part.text)
        if part.whole or template == _NEXT or (part.prose and _stays(block)):
            kept.append(block)
    return kept


def _stays(block: Mapping[str, Any]) -> bool:
    """Whether a block may stay in a message that is cut."""
    return block.get("type") not in THINKING and (block.get("type") != "text" or bool(block["text"].strip()))


def _build_assistant(part: Part) -> list[WireMessage]:
    payload = json.loads(part.payload) if part.payload else {}
    frames = payload.get("f")
    if "b" not in payload:
        content = part.text if payload.get("s", 1) else None
        left = part.whole or (part.prose and part.text.strip())
        return [_framed(frames, part.role, content)] if left else []
    frames = frames if isinstance(frames, list) else [frames]
    contents: list[list[Any]] = [[]]
    for block in _assistant_blocks(part, payload["b"]):
        if block == _NEXT:
            contents.append([])
        else:
            contents[-1].append(block)
    return [
        _framed(frame, part.role, content)
        for frame, content in zip(frames, contents, strict=True)
        if content or part.whole
    ]


def _is_result(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "tool_result"


def _cache_marks(value: Any) -> list[dict[str, Any]]:
    """The objects of a message list, system prompt or tool list that carry `cache_control`, in order."""
    found: list[dict[str, Any]] = []
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            if item.get("cache_control"):
                found.append(item)
            found += _cache_marks(item.get("content"))
    return found


def place_cache_control(body: Mapping[str, Any], boundary: int) -> dict[str, Any]:
    """The request with a cache breakpoint at the end of `messages[boundary]`, its last stable message.

    The client's own breakpoints stay; where they are four already, or one stands there, nothing changes. Ours lives as
    long as any that follows it, as the API wants longer lives first.
    """
    messages = list(body["messages"])
    marks = sum(len(_cache_marks(body.get(key))) for key in ("tools", "system", "messages"))
    if marks >= BREAKPOINTS or not 0 <= boundary < len(messages):
        return dict(body)
    message = messages[boundary]
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) and content.strip() else content
    if not isinstance(blocks, list):
        return dict(body)
    places = [
        i
        for i, block in enumerate(blocks)
        if block.get("type") not in THINKING and (block.get("type") != "text" or block.get("text"))
    ]
    if not places or any(blocks[i].get("cache_control") for i in places[-1:]):
        return dict(body)
    later = _cache_marks(messages[boundary + 1 :])
    long = any(isinstance(mark["cache_control"], dict) and mark["cache_control"].get("ttl") == "1h" for mark in later)
    mark = {"type": "ephemeral", "ttl": "1h"} if long else {"type": "ephemeral"}
    marked = [{**block, "cache_control": mark} if i == places[-1] else block for i, block in enumerate(blocks)]
    messages[boundary] = {**message, "content": marked}
    return {**body, "messages": messages}


class MessagesFormat(WireFormat):
    """Anthropic Messages."""

    name = "messages"
    path = "/v1/messages"

    def units(self, messages: Sequence[Any], start: int = 0) -> Iterator[Unit]:
        """One unit a message; assistant messages that share a server tool's use and result are one event."""
        index = start
        while index < len(messages):
            first = index
            while (
                _open_server_uses(messages[index])
                and index + 1 < len(messages)
                and isinstance(messages[index + 1], Mapping)
                and messages[index + 1].get("role") == "assistant"
                and isinstance(messages[index + 1].get("content"), list)
            ):
                index += 1
            index += 1
            if index == first + 1:
                yield Unit(index, parse_message(messages[first], f"messages[{first}]"))
            else:
                yield Unit(index, [_merged(messages[first:index], first)])

    def history_of(self, body: Mapping[str, Any]) -> list[WireMessage]:
        """`system` as a message of its own kind, then `messages`."""
        top = {"role": TOP, "content": body["system"]} if "system" in body else {"role": TOP}
        return [top, *self.checked_list(body.get("messages"))]

    def with_history(self, body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The body with other `messages`, and `system` where the list has one."""
        out = dict(body)
        kept: list[dict[str, Any]] = []
        for message in messages:
            if message.get("role") == TOP:
                if "content" in message:
                    out["system"] = message["content"]
            elif message.get("role") == TOP_NOTE:
                system = out.get("system") or []
                blocks = [{"type": "text", "text": system}] if isinstance(system, str) else list(system)
                out["system"] = [*blocks, {"type": "text", "text": message["content"]}]
            else:
                kept.append(dict(message))
        out["messages"] = kept
        return out

    def build(self, parts: Sequence[Part]) -> list[WireMessage]:
        """Results and user text of one message joined again; a note goes into a message of tool results."""
        built: list[WireMessage] = []
        open_blocks: list[Any] | None = None
        """Content of the last message where it is a user's list of blocks."""
        for part in parts:
            if part.note:
                block = {"type": "text", "text": part.text}
                if part.role == "system":
                    built.append({"role": TOP_NOTE, "content": part.text})
                elif open_blocks and any(map(_is_result, open_blocks)):
                    open_blocks.append(block)
                else:
                    built.append({"role": "user", "content": part.text})
                    open_blocks = None
            elif part.role == "assistant":
                made = _build_assistant(part)
                built += made
                open_blocks = None if made else open_blocks
            else:
                payload = json.loads(part.payload) if part.payload else {}
                if "b" not in payload:
                    content = part.text if payload.get("s", 1) else None
                    built.append(_framed(payload.get("f"), part.role, content))
                    open_blocks = None
                    continue
                blocks = [_filled(template, part.text) for template in payload["b"]]
                if payload.get("j") and open_blocks and (part.role == "tool" or _is_result(open_blocks[-1])):
                    open_blocks += blocks
                else:
                    built.append(_framed(payload.get("f"), "user" if part.role == "tool" else part.role, blocks))
                    open_blocks = blocks if part.role in ("tool", "user") else None
        return built

    def shortened(self, payload: str, text: str) -> str:
        """The blocks with a string in place of the result's content."""
        record = json.loads(payload)
        blocks = [{**block, "content": f"{_TEXT}0:{len(text)}"} for block in record["b"]]
        return json.dumps({**record, "b": blocks})

    def reply(self, response: Mapping[str, Any]) -> Reply:
        """The message of a response."""
        content = response.get("content")
        if response.get("type") != "message" or not isinstance(content, list):
            raise InputError("no assistant message", "response", 'an object of type "message"')
        return _reply(content, response, response.get("usage"), response.get("stop_reason"), True)

    def stream_reader(self) -> "MessagesStreamReader":
        """Reads `message_start` … `message_stop`."""
        return MessagesStreamReader()

    def reason_not_to_edit(self, body: Mapping[str, Any]) -> str:
        """A compaction block stands for messages that are not in the request."""
        for message in body.get("messages") or ():
            content = message.get("content") if isinstance(message, Mapping) else None
            for block in content if isinstance(content, list) else ():
                if isinstance(block, Mapping) and block.get("type") == "compaction":
                    return "the provider compacts this conversation itself"
        return ""

    def breaches(self, messages: Sequence[Mapping[str, Any]]) -> list[str]:
        """User first; results in the user turn right behind their calls, before its text; server tools in pairs."""
        found: list[str] = []
        turns = _turns(messages)
        if turns and turns[0][0] != "user":
            found.append("messages[0]: the first message is not the user's")
        waiting: list[str] = []
        for role, index, blocks in turns:
            if role == "user":
                results = [str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]
                texts = [block.get("type") != "tool_result" for block in blocks]
                if results and texts != sorted(texts):
                    found.append(f"messages[{index}]: a result behind other content")
                found += _unpaired(index, waiting, results)
                waiting = []
            else:
                found += [f"messages[{index}]: a call before it has no result" for _ in waiting]
                waiting = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
                if any(block.get("type") == "text" and not str(block.get("text")).strip() for block in blocks):
                    found.append(f"messages[{index}]: an empty text block")
                found += _server_breaches(index, blocks)
            if not blocks:
                found.append(f"messages[{index}]: no content")
        if len(_cache_marks([dict(message) for message in messages])) > BREAKPOINTS:
            found.append("messages: more than four cache breakpoints")
        return found


def _turns(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, int, list[Any]]]:
    """(role, index of its first message, blocks) with consecutive messages of one role joined, as the API does."""
    turns: list[tuple[str, int, list[Any]]] = []
    for index, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant"):
            continue
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
        if turns and turns[-1][0] == role:
            turns[-1][2].extend(blocks)
        else:
            turns.append((role, index, blocks))
    return turns


def _unpaired(index: int, calls: Sequence[str], results: Sequence[str]) -> list[str]:
    left = list(calls)
    found: list[str] = []
    for result in results:
        if result in left:
            left.remove(result)
        else:
            found.append(f"messages[{index}]: a result without its call")
    return found + [f"messages[{index}]: a call before it has no result" for _ in left]


def _server_breaches(index: int, blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    uses = {str(block.get("id")) for block in blocks if str(block.get("type")).endswith("_tool_use")}
    return [
        f"messages[{index}]: a server tool's result without its use"
        for block in blocks
        if str(block.get("type")).endswith("_tool_result") and str(block.get("tool_use_id")) not in uses
    ]


def _merged(messages: Sequence[Mapping[str, Any]], first: int) -> Event:
    """One event of several assistant messages."""
    read, frames, blocks = _Reading(), [], []
    for offset, message in enumerate(messages):
        where = f"messages[{first + offset}]"
        content = message["content"]
        frames.append(_frame(message, "assistant", where).get("f"))
        blocks += [_NEXT] if offset else []
        blocks += [read.add(block, f"{where}.content[{i}]") for i, block in enumerate(content)]
    return read.event("assistant", {"f": frames, "b": blocks})


def usage_of(usage: Any) -> Usage | None:
    """Usage of a response; Anthropic counts uncached, cached and written tokens apart."""
    if not isinstance(usage, Mapping):
        return None
    keys = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    return Usage(*(value if isinstance(value := usage.get(key), int) else 0 for key in keys))


def _reply(content: list[Any], response: Mapping[str, Any], usage: Any, stop: Any, complete: bool) -> Reply:
    message = {"role": "assistant", "content": content}
    return Reply(
        [message],
        parse_message(message, "response"),
        usage_of(usage),
        stop if isinstance(stop, str) else "",
        str(response.get("model") or ""),
        str(response.get("id") or ""),
        complete,
    )


class MessagesStreamReader(JsonStreamReader):
    """Puts the content blocks of the deltas together."""

    def __init__(self) -> None:
        super().__init__()
        self._message: dict[str, Any] | None = None
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, dict[str, list[str]]] = {}
        self._closed: set[int] = set()
        self._usage: dict[str, Any] = {}
        self._stop: Any = None
        self._complete = False

    def take(self, event: dict[str, Any]) -> None:
        match event:
            case {"type": "message_start", "message": dict(message)}:
                self._message = message
                self._usage.update(message.get("usage") or {})
            case {"type": "content_block_start", "index": int(index), "content_block": dict(block)}:
                self._blocks[index] = dict(block)
                self._pieces[index] = {}
            case {"type": "content_block_delta", "index": int(index), "delta": dict(delta)}:
                if index in self._blocks:
                    self._take_delta(index, delta)
            case {"type": "content_block_stop", "index": int(index)}:
                self._closed.add(index)
            case {"type": "message_delta"}:
                self._stop = (event.get("delta") or {}).get("stop_reason") or self._stop
                self._usage.update({key: value for key, value in (event.get("usage") or {}).items() if value})
            case {"type": "message_stop"}:
                self._complete = True

    def _take_delta(self, index: int, delta: Mapping[str, Any]) -> None:
        for key in ("text", "thinking", "signature", "partial_json"):
            if isinstance(piece := delta.get(key), str):
                self._pieces[index].setdefault(key, []).append(piece)
        if "citation" in delta:
            block = self._blocks[index]
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]

    def _block(self, index: int) -> dict[str, Any] | None:
        """A block as far as it came; None where a part of it would be illegal or useless."""
        block = dict(self._blocks[index])
        for key, pieces in self._pieces[index].items():
            if key != "partial_json":
                block[key] = str(block.get(key) or "") + "".join(pieces)
        if given := "".join(self._pieces[index].get("partial_json", ())):
            try:
                block["input"] = json.loads(given)
            except (ValueError, RecursionError):
                return None
        if index not in self._closed and block.get("type") != "text":
            return None
        return block if block.get("type") != "text" or block.get("text") else None

    def reply(self) -> Reply | None:
        """The message of the deltas so far."""
        if self._message is None:
            return None
        content = [block for index in sorted(self._blocks) if (block := self._block(index)) is not None]
        try:
            return _reply(content, self._message, self._usage, self._stop, self._complete)
        except InputError:
            return _reply([], self._message, self._usage, self._stop, self._complete)
