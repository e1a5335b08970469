"""What the agent can see: the text of the messages it is given, and nothing else.

view.find(("email",), name="Nancy Ritter")      the newest JSON object in any visible text that fits, or None
view.need(call, ("email",), name="…")           the same, or Missing: the agent then makes `call` to see it again
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

type Json = dict[str, Any]
type ChatMessage = dict[str, Any]

_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Call:
    """A tool call that the agent wants to make."""

    name: str
    arguments: Json


class Missing(Exception):
    """A needed fact is not visible; `call` would show it again."""

    def __init__(self, what: str, call: Call) -> None:
        super().__init__(what)
        self.what, self.call = what, call


class View:
    """The messages of one model invocation, as given (dicts in chat-completions form)."""

    def __init__(self, messages: Sequence[ChatMessage]) -> None:
        self.texts = [text_of(message) for message in messages if message.get("role") != "system"]
        self.latest_results: list[str] = []
        for message in messages:
            if message.get("role") == "assistant":
                self.latest_results = []
            elif message.get("role") == "tool":
                self.latest_results.append(text_of(message))

    def records(self) -> Iterator[Json]:
        """Every JSON object in every visible text, nested ones included; the newest text first."""
        for text in reversed(self.texts):
            yield from _objects(text)

    def find_all(self, fields: Sequence[str], **equals: object) -> list[Json]:
        """The objects that have these fields and these values, newest text first."""
        return [
            record
            for record in self.records()
            if all(name in record for name in fields)
            and all(record.get(name) == value for name, value in equals.items())
        ]

    def find(self, fields: Sequence[str], **equals: object) -> Json | None:
        """The newest object that has these fields and these values, or None."""
        return next(iter(self.find_all(fields, **equals)), None)

    def need(self, call: Call, fields: Sequence[str], **equals: object) -> Json:
        """Like `find`, but raises Missing with the call that shows the object where there is none."""
        found = self.find(fields, **equals)
        if found is None:
            described = ", ".join([*fields, *(f"{name} {value}" for name, value in equals.items())])
            raise Missing(described, call)
        return found

    def last_error(self) -> str:
        """The error code of the last call's result, or nothing where it succeeded or is not visible."""
        for record in _objects(self.latest_results[-1])[:1] if self.latest_results else ():
            if "error" in record:
                return str(record["error"]["code"])
        return ""


def text_of(message: ChatMessage) -> str:
    """The text of a message: string content, or the text parts of list content joined by a newline."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


@lru_cache(maxsize=4096)
def _objects(text: str) -> tuple[Json, ...]:
    """All JSON objects in a text that may also hold other text, outer before inner."""
    found: list[Json] = []
    position = text.find("{")
    while position >= 0:
        try:
            value, end = _DECODER.raw_decode(text, position)
        except ValueError:
            end = position + 1
        else:
            _collect(value, found)
        position = text.find("{", end)
    return tuple(found)


def _collect(value: object, found: list[Json]) -> None:
    if isinstance(value, dict):
        found.append(value)
        for item in value.values():
            _collect(item, found)
    elif isinstance(value, list):
        for item in value:
            _collect(item, found)
