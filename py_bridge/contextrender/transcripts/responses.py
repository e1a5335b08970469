"""OpenAI Responses items to and from events, loss-free.

The items of one assistant turn (reasoning, messages, calls, the provider's own tools) are one event; a call's output is
a result. The payload of an event: `i` its items, with marks where its text and its calls stand.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contextrender.errors import InputError
from contextrender.events import Call, Event
from contextrender.transcripts.chat import part_price
from contextrender.transcripts.format import Part, Reply, Unit, Usage, WireFormat, WireMessage
from contextrender.transcripts.identity import identity
from contextrender.transcripts.jsontext import checked_object, dump_message, same, text_field
from contextrender.transcripts.pricing import sealed_tokens, weigh
from contextrender.transcripts.sse import JsonStreamReader

TOP = "\x00instructions"
"""Type of the item that stands for a request's top-level `instructions`; empty where the request has none."""
TOP_NOTE = "\x00instructions_note"
"""Type of our own text behind them."""
BARE_INPUT = "\x00input"
"""Type of the item that stands for an `input` that is a string."""
PINNED_TYPES = ("compaction", "compaction_summary")
"""Items that stand for an earlier history: kept always, like system messages."""
ROLES = ("user", "assistant", "system", "developer")
_CALL = "\x00call:"
_TEXT = "\x00text:"
_ITEM = 'an item with a "type", or a message with "role" and "content"'


def _is_output(kind: str) -> bool:
    return kind.endswith("_output") or kind == "mcp_approval_response"


def _is_message(item: Mapping[str, Any]) -> bool:
    return item.get("type", "message") == "message" and "role" in item


def _is_call(item: Mapping[str, Any]) -> bool:
    """A call that the client answers: it has a call id. The provider's own tools have none."""
    kind = str(item.get("type"))
    return kind == "mcp_approval_request" or (kind.endswith("_call") and isinstance(item.get("call_id"), str))


def _side(item: Any, where: str) -> str:
    """`assistant`, `tool`, or the role of an item that is an event of its own."""
    checked_object(item, "an item", where, _ITEM)
    if _is_message(item):
        role = item["role"]
        if role not in ROLES:
            raise InputError(f"unknown role {role!r}", f"{where}.role", ", ".join(ROLES))
        return str(role)
    kind = item.get("type")
    if not isinstance(kind, str):
        raise InputError("an item has neither a type nor a role", where, _ITEM)
    if kind == BARE_INPUT:
        return "user"
    if kind in (TOP, *PINNED_TYPES):
        return "system"
    return "tool" if _is_output(kind) else "assistant"


class _Reading:
    """What the items of one event say, collected in order."""

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

    def add_content(self, content: Any, where: str) -> Any:
        """The template of a content: a string, a list of parts, or null."""
        if content is None:
            return None
        if isinstance(content, str):
            return self.add_text(content)
        if not isinstance(content, list):
            raise InputError(f"content is of type {type(content).__name__}", where, "a string or a list of parts")
        return [self._part(part, f"{where}[{i}]") for i, part in enumerate(content)]

    def _part(self, part: Any, where: str) -> Any:
        part = checked_object(part, "a content part", where, "a list of objects with a type")
        if isinstance(text := part.get("text"), str):
            return {**part, "text": self.add_text(text)}
        self.said.append(dump_message(part, where))
        more, price = part_price(part)
        self.beside.append(more)
        self.tokens += price
        return dict(part)

    def add_item(self, item: Mapping[str, Any], where: str) -> Any:
        """The template of an item of an assistant turn."""
        kind = str(item.get("type", "message"))
        if _is_message(item):
            return {**item, "content": self.add_content(item.get("content"), f"{where}.content")}
        if _is_call(item):
            return self._add_call(item, where)
        if kind == "reasoning":
            more, price = weigh({key: item.get(key) for key in ("summary", "content")})
            self.beside.append(more)
            self.tokens += price + sealed_tokens(str(item.get("encrypted_content") or ""))
            return dict(item)
        told = {key: value for key, value in item.items() if key not in ("id", "status")}
        if kind == "image_generation_call":
            more, price = part_price({"type": "input_image", "image_url": str(told.pop("result", "") or "")})
        else:
            more, price = weigh(told)
        self.said.append(dump_message(told, where))
        self.beside.append(more)
        self.tokens += price
        return dict(item)

    def _add_call(self, item: Mapping[str, Any], where: str) -> str:
        kind = str(item["type"])
        call_id = text_field(item, "id" if kind == "mcp_approval_request" else "call_id", where)
        given = item.get("arguments", item.get("input", item.get("action", item.get("operation", ""))))
        arguments = given if isinstance(given, str) else dump_message(given, where)
        named = item.get("name")
        call = Call(named if isinstance(named, str) else kind.removesuffix("_call"), arguments, call_id)
        payload = "" if same(_plain_call(call), item) else dump_message(item, where)
        self.calls.append(Call(call.name, arguments, call_id, payload))
        return f"{_CALL}{len(self.calls) - 1}"

    def event(self, role: str, items: list[Any], plain: Any = None, call_id: str = "") -> Event:
        """The event of what was read; no payload where its items are `plain`."""
        return Event(
            role,
            self.text,
            tuple(self.calls),
            call_id,
            "",
            "" if plain is not None and same(items, plain) else dump_message({"i": items}, "input"),
            identity(role, self.said, self.calls, call_id),
            "\n".join(filter(None, self.beside)),
            self.tokens,
        )


def _plain_call(call: Call) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}


def _result(item: Mapping[str, Any], where: str) -> Event:
    kind = str(item["type"])
    read = _Reading()
    call_id = text_field(item, "approval_request_id" if kind == "mcp_approval_response" else "call_id", where)
    template = dict(item)
    output = item.get("output")
    if isinstance(output, str) or (isinstance(output, list) and all(isinstance(part, Mapping) for part in output)):
        template["output"] = read.add_content(output, f"{where}.output")
    else:
        told = {key: value for key, value in item.items() if key not in ("id", "status", "call_id")}
        is_image = isinstance(output, Mapping) and str(output.get("type")) in ("computer_screenshot", "input_image")
        more, price = part_price({**output, "type": "input_image"}) if is_image and output else weigh(told)
        read.said.append(dump_message(told, where))
        read.beside.append(more)
        read.tokens += price
    plain = {"type": "function_call_output", "call_id": call_id, "output": f"{_TEXT}0:{len(read.text)}"}
    return read.event("tool", [template], [plain], call_id)


def _alone(item: Mapping[str, Any], side: str, where: str) -> Event:
    """A user, system or developer message, or an item that stands for one."""
    read = _Reading()
    template = dict(item)
    kind = item.get("type")
    if kind in PINNED_TYPES:
        template = read.add_item(item, where)
    elif "content" in item:
        template["content"] = read.add_content(item["content"], f"{where}.content")
    plain = {"type": "message", "role": side, "content": [{"type": "input_text", "text": f"{_TEXT}0:{len(read.text)}"}]}
    return read.event(side, [template], [plain])


def _filled(template: Any, text: str) -> Any:
    """A template with its text marks replaced."""
    match template:
        case str() if template.startswith(_TEXT):
            start, end = template[len(_TEXT) :].split(":")
            return text[int(start) : int(end)]
        case {"text": str(mark)} if mark.startswith(_TEXT):
            return {**template, "text": _filled(mark, text)}
    return template


def _filled_item(item: Mapping[str, Any], text: str) -> dict[str, Any]:
    out = dict(item)
    for key in ("content", "output"):
        value = out.get(key)
        if isinstance(value, str):
            out[key] = _filled(value, text)
        elif isinstance(value, list) and item.get("type") != "reasoning":
            out[key] = [_filled(part, text) for part in value]
    return out


def _built(part: Part) -> list[WireMessage]:
    if part.note:
        if part.role == "system":
            return [{"type": TOP_NOTE, "content": part.text}]
        return [_user_message(part.text)]
    if not part.payload:
        if part.role == "tool":
            return [{"type": "function_call_output", "call_id": part.call_id, "output": part.text}]
        return [_user_message(part.text) | {"role": part.role}]
    items: list[WireMessage] = []
    for template in json.loads(part.payload)["i"]:
        if isinstance(template, str):
            call = part.calls.get(int(template[len(_CALL) :]))
            if call is not None:
                item = json.loads(call.payload) if call.payload else _plain_call(call)
                items.append(item if part.whole else _without_id(item))
        elif part.whole or part.role != "assistant":
            items.append(_filled_item(template, part.text))
        elif part.prose and template.get("type") != "reasoning":
            items.append(_without_id(_filled_item(template, part.text)))
    return items


def _without_id(item: dict[str, Any]) -> dict[str, Any]:
    """An item parted from its reasoning: the API looks for that by the item's id, so a call or message goes without."""
    if item.get("type", "message") in ("message", "function_call", "custom_tool_call"):
        item.pop("id", None)
    return item


def _user_message(text: str) -> WireMessage:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


class ResponsesFormat(WireFormat):
    """OpenAI Responses."""

    name = "responses"
    path = "/v1/responses"

    def units(self, messages: Sequence[Any], start: int = 0) -> Iterator[Unit]:
        """One unit an event: an assistant turn is all its neighbouring items."""
        index = start
        while index < len(messages):
            where = f"input[{index}]"
            side = _side(messages[index], where)
            if side == "tool":
                index += 1
                yield Unit(index, [_result(messages[index - 1], where)])
            elif side != "assistant":
                index += 1
                yield Unit(index, [_alone(messages[index - 1], side, where)])
            else:
                read, items = _Reading(), []
                while index < len(messages) and _side(messages[index], f"input[{index}]") == "assistant":
                    items.append(read.add_item(messages[index], f"input[{index}]"))
                    index += 1
                yield Unit(index, [read.event("assistant", items)])

    def history_of(self, body: Mapping[str, Any]) -> list[WireMessage]:
        """`instructions` as an item of its own kind, then `input`."""
        given = body.get("input")
        items = (
            [{"type": BARE_INPUT, "content": given}] if isinstance(given, str) else self.checked_list(given, "input")
        )
        top = {"type": TOP, "content": body["instructions"]} if "instructions" in body else {"type": TOP}
        return [top, *items]

    def with_history(self, body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The body with another `input`, and `instructions` where the list has them."""
        out = dict(body)
        items: list[Any] = []
        for item in messages:
            match item.get("type"):
                case "\x00instructions":
                    if "content" in item:
                        out["instructions"] = item["content"]
                case "\x00instructions_note":
                    out["instructions"] = "\n\n".join(filter(None, [out.get("instructions"), item["content"]]))
                case _:
                    items.append(dict(item))
        if len(items) == 1 and items[0].get("type") == BARE_INPUT:
            out["input"] = items[0]["content"]
        else:
            out["input"] = [
                _user_message(item["content"]) if item.get("type") == BARE_INPUT else item for item in items
            ]
        return out

    def build(self, parts: Sequence[Part]) -> list[WireMessage]:
        """The items of each part; where a turn is cut its reasoning goes, and the ids that would ask for it."""
        return [item for part in parts for item in _built(part)]

    def shortened(self, payload: str, text: str) -> str:
        """The item with a string output."""
        if not payload:
            return ""
        record = json.loads(payload)
        return json.dumps({**record, "i": [{**item, "output": f"{_TEXT}0:{len(text)}"} for item in record["i"]]})

    def reply(self, response: Mapping[str, Any]) -> Reply:
        """The output items of a response."""
        output = response.get("output")
        if not isinstance(output, list):
            raise InputError("no output", "response", 'an object of type "response"')
        return _reply(output, response, True)

    def stream_reader(self) -> "ResponsesStreamReader":
        """Reads `response.created` … `response.completed`."""
        return ResponsesStreamReader()

    def reason_not_to_edit(self, body: Mapping[str, Any]) -> str:
        """A part of the history lives at the provider."""
        for key in ("previous_response_id", "conversation"):
            if body.get(key):
                return f"{key}: the provider holds a part of the history"
        given = body.get("input")
        for item in given if isinstance(given, list) else ():
            if isinstance(item, Mapping) and item.get("type") == "item_reference":
                return "item_reference: the provider holds a part of the history"
        return ""

    def breaches(self, messages: Sequence[Mapping[str, Any]]) -> list[str]:
        """Calls and outputs in pairs, in this order; reasoning followed by what it led to."""
        found: list[str] = []
        waiting: list[tuple[str, int]] = []
        thinking = False
        for index, item in enumerate(messages):
            side = _side(item, f"input[{index}]")
            if thinking and side != "assistant":
                found.append(f"input[{index - 1}]: reasoning without what follows it")
            thinking = item.get("type") == "reasoning"
            if _is_call(item):
                waiting.append((str(item.get("call_id") or item.get("id") or ""), index))
            elif side == "tool":
                call_id = str(item.get("call_id") or item.get("approval_request_id") or "")
                open_call = next((call for call in waiting if call[0] == call_id), None)
                if open_call is None:
                    found.append(f"input[{index}]: a result without its call")
                else:
                    waiting.remove(open_call)
            elif side == "user":
                found += [f"input[{at}]: a call without its result" for _, at in waiting]
                waiting = []
        return found


def usage_of(usage: Any) -> Usage | None:
    """Usage of a response: `input_tokens` includes what was cached."""
    if not isinstance(usage, Mapping):
        return None
    details = usage.get("input_tokens_details")
    details = details if isinstance(details, Mapping) else {}

    def count(values: Mapping[str, Any], key: str) -> int:
        value = values.get(key)
        return value if isinstance(value, int) else 0

    cached, written = count(details, "cached_tokens"), count(details, "cache_write_tokens")
    whole = count(usage, "input_tokens")
    return Usage(max(0, whole - cached - written), cached, written, count(usage, "output_tokens"))


def _reply(output: list[Any], response: Mapping[str, Any], complete: bool) -> Reply:
    status = response.get("status")
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    return Reply(
        output,
        ResponsesFormat().parse(output),
        usage_of(response.get("usage")),
        str(reason or status or ""),
        str(response.get("model") or ""),
        str(response.get("id") or ""),
        complete,
    )


class ResponsesStreamReader(JsonStreamReader):
    """Collects finished items; of a cut stream also the text of a message that was being said."""

    def __init__(self) -> None:
        super().__init__()
        self._response: dict[str, Any] | None = None
        self._done: dict[int, dict[str, Any]] = {}
        self._open: dict[int, dict[str, Any]] = {}
        self._texts: dict[int, list[str]] = {}
        self._complete = False

    def take(self, event: dict[str, Any]) -> None:
        match event:
            case {"type": "response.output_item.added", "output_index": int(index), "item": dict(item)}:
                self._open[index] = item
            case {"type": "response.output_text.delta", "output_index": int(index), "delta": str(text)}:
                self._texts.setdefault(index, []).append(text)
            case {"type": "response.output_item.done", "output_index": int(index), "item": dict(item)}:
                self._done[index] = item
                self._open.pop(index, None)
            case {"type": "response.completed" | "response.incomplete" | "response.failed", "response": dict(response)}:
                self._response = response
                self._complete = event["type"] != "response.failed"
            case {"type": "response.created" | "response.in_progress", "response": dict(response)}:
                self._response = response

    def reply(self) -> Reply | None:
        """The items so far."""
        if self._response is None:
            return None
        items = dict(self._done)
        for index, item in self._open.items():
            text = "".join(self._texts.get(index, ()))
            if item.get("type") == "message" and text:
                items[index] = {**item, "content": [{"type": "output_text", "text": text, "annotations": []}]}
        output = [items[index] for index in sorted(items)] or self._response.get("output") or []
        try:
            return _reply(list(output), self._response, self._complete)
        except InputError:
            return _reply([], self._response, self._complete)
