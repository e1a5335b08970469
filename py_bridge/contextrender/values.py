"""Which tokens of a text are values that can be traced (paper App. A.2), and what an operation says.

Pure text functions: no graph in here.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

_CANDIDATE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{4,}")
_MARK = re.compile(r"[_A-Z0-9.\-]")
_TITLECASE = re.compile(r"[A-Z][a-z]+")
_ESCAPE = re.compile(r'\\(?:[nrtbf"/\\]|u[0-9a-fA-F]{4})')
MIN_LENGTH = 6


def extract_values(text: str) -> dict[str, None]:
    """The distinct qualifying values of a text, in order of appearance (App. A.2).

    A candidate is a run of letters, digits, `_`, `.` and `-` that begins with a letter or digit; every other character
    separates. Leading and trailing `.`, `-`, `_` are stripped, then six characters must remain, one of them an
    underscore, upper-case letter, digit, hyphen or period, and it may not be a purely alphabetic Titlecase word.
    """
    found: dict[str, None] = {}
    for candidate in _CANDIDATE.findall(text):
        value = candidate.strip("._-")
        if value not in found and len(value) >= MIN_LENGTH and _MARK.search(value) and not _TITLECASE.fullmatch(value):
            found[value] = None
    return found


def unescape(text: str) -> str:
    """The text with JSON escapes read as separators or characters, for results that hold JSON inside a string.

    Used by the default policy only; the paper matches the text as the model sees it.
    """
    return _ESCAPE.sub(" ", text) if "\\" in text else text


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, item in value.items():
                yield str(key)
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)
        case None:
            return
        case _:
            yield json.dumps(value)


def arguments_text(arguments: str) -> str:
    """The strings and keys of a call's decoded arguments, numbers in JSON form, one a line.

    So `"\\nC142XYZ"` holds C142XYZ and not nC142XYZ. Arguments that are not JSON are returned as they are.
    """
    try:
        decoded = json.loads(arguments)
    except ValueError:
        return arguments
    except RecursionError:
        return arguments
    try:
        return "\n".join(_strings(decoded))
    except RecursionError:
        return arguments


def call_text(name: str, arguments: str) -> str:
    """What a tool call says: its name, a newline, and its arguments' text."""
    return f"{name}\n{arguments_text(arguments)}"
