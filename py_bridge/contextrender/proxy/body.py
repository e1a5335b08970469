"""A model request as text: its message list element by element, so that all else is sent on as it came.

Messages that are kept are sent as the client wrote them: spacing, escapes, number forms and key order included.
"""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from json.decoder import WHITESPACE, scanstring  # type: ignore[attr-defined]
from typing import Any

_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


class BodyError(ValueError):
    """The text is not a JSON object that can be taken apart; the text says why."""


@dataclass(slots=True)
class Elements:
    """The first elements of a message list: their values, and `text` from the first one's start to the last one's end.

    `ends` are the ends of the elements in `text`, `starts` their starts; `read`: what was made of them (a Transcript).
    """

    text: str = ""
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    read: Any = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.values)

    def source(self, index: int) -> str:
        """An element as it was written."""
        return self.text[self.starts[index] : self.ends[index]]


@dataclass(frozen=True, slots=True)
class Body:
    """A request. `fields`: all but the message list; `start`, `end`: where the list stands in `text`.

    `earlier`: the list of an earlier request, and how many elements it shares with this one.
    """

    text: str
    fields: dict[str, Any]
    elements: Elements
    start: int
    end: int
    earlier: tuple[Elements, int] | None = None

    def with_list(self, sources: Sequence[str]) -> bytes:
        """The request with other elements, each given as JSON text."""
        return f"{self.text[: self.start]}[{','.join(sources)}]{self.text[self.end :]}".encode()


class Known:
    """Remembers the message lists of earlier requests, so that a list that only grew is scanned from where it grew.

    limit: characters of lists that are kept, the longest unused go first.
    """

    def __init__(self, limit: int = 32_000_000) -> None:
        self._limit = limit
        self._held: dict[str, list[Elements]] = {}
        self._size = 0
        self._lock = threading.Lock()

    def find(self, text: str, start: int, first: str) -> tuple[Elements, int] | None:
        """The list that shares most elements with the one at `start`, whose first element reads `first`; how many."""
        with self._lock:
            held = tuple(self._held.get(first, ()))
        best: tuple[Elements, int] | None = None
        for elements in held:
            shared = _shared(elements, text, start)
            if best is None or shared > best[1]:
                best = elements, shared
        return best

    def keep(self, elements: Elements) -> None:
        """Remember a list, in place of those that it begins with."""
        if not len(elements) or len(elements.text) > self._limit:
            return
        first = elements.source(0)
        with self._lock:
            old = self._held.pop(first, [])
            rest = [other for other in old if not elements.text.startswith(other.text)][-7:]
            self._held[first] = [*rest, elements]
            self._size += _size(self._held[first]) - _size(old)
            while self._size > self._limit:
                self._size -= _size(self._held.pop(next(iter(self._held))))


def _size(held: Sequence[Elements]) -> int:
    return sum(len(elements.text) for elements in held)


def _shared(elements: Elements, text: str, start: int) -> int:
    """How many of the elements stand at `start` of `text`, byte for byte."""
    if text.startswith(elements.text, start):
        return len(elements)
    low, high = 0, len(elements) - 1
    while low < high:  # the largest count that still matches
        middle = (low + high + 1) // 2
        if text.startswith(elements.text[: elements.ends[middle - 1]], start):
            low = middle
        else:
            high = middle - 1
    return low


def _skip(text: str, at: int) -> int:
    found = WHITESPACE.match(text, at)
    return int(found.end()) if found else at


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        value, end = _scan(text, at)
    except StopIteration:
        raise BodyError(f"no JSON value at character {at}") from None
    except (ValueError, RecursionError) as error:
        raise BodyError(str(error)) from None
    return value, end


def read_body(raw: bytes, name: str, known: Known) -> Body:
    """Take a request apart; `name` is the field of its message list. Raises BodyError.

    A list that is no list of objects (a string `input`) counts as none: `elements` is empty, its value is in `fields`.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise BodyError(str(error)) from None
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        raise BodyError("not a JSON object")
    fields: dict[str, Any] = {}
    elements, start, end, earlier = Elements(), 0, 0, None
    at = _skip(text, at + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"':
            raise BodyError(f"no key at character {at}")
        try:
            key, at = scanstring(text, at + 1, True)
        except ValueError as error:
            raise BodyError(str(error)) from None
        at = _skip(text, at)
        if text[at : at + 1] != ":":
            raise BodyError(f"no value at character {at}")
        at = _skip(text, at + 1)
        if key in fields or (key == name and end):
            raise BodyError(f"{key!r} stands there twice")
        if key == name and text[at : at + 1] == "[":
            start = at
            elements, at, earlier = _read_list(text, at, known)
            end = at
        else:
            fields[key], at = _value(text, at)
        at = _skip(text, at)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
            if text[at : at + 1] == "}":
                raise BodyError("a comma before the end")
        elif text[at : at + 1] != "}":
            raise BodyError(f"no comma at character {at}")
    if _skip(text, at + 1) != len(text):
        raise BodyError("something follows the object")
    return Body(text, fields, elements, start, end, earlier)


def _read_list(text: str, at: int, known: Known) -> tuple[Elements, int, tuple[Elements, int] | None]:
    """The elements of the list that begins at `at`, where it ends, and what it shares with an earlier one."""
    at = _skip(text, at + 1)
    if text[at : at + 1] == "]":
        return Elements(), at + 1, None
    begin = at
    value, end = _value(text, at)
    starts, ends, values = [0], [end - begin], [value]
    earlier = known.find(text, begin, text[begin:end]) if isinstance(value, dict) else None
    if earlier and earlier[1]:
        old, count = earlier
        starts, ends, values = old.starts[:count], old.ends[:count], old.values[:count]
    at = _skip(text, begin + ends[-1])
    while text[at : at + 1] == ",":
        at = _skip(text, at + 1)
        value, end = _value(text, at)
        starts.append(at - begin)
        ends.append(end - begin)
        values.append(value)
        at = _skip(text, end)
    if text[at : at + 1] != "]":
        raise BodyError(f"no comma at character {at}")
    elements = Elements(text[begin : begin + ends[-1]], starts, ends, values)
    known.keep(elements)
    return elements, at + 1, earlier
