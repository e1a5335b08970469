"""JSON as the transcripts keep it: compact, key order kept, every string storable."""

import json
from collections.abc import Mapping
from typing import Any

from contextrender.errors import InputError


def dump(value: Any) -> str:
    """Compact JSON in the given key order. A lone surrogate stays an escape, so that every store can hold the text."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def dump_message(value: Any, where: str) -> str:
    """`dump` of what a caller gave. Raises InputError where it is not JSON."""
    try:
        return dump(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the message is not JSON ({error})", where, "JSON values") from error


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal in every byte: key order, and 1 against 1.0 or true, included."""
    return bool(one == other) and dump(one) == dump(other)


def checked_object(value: Any, what: str, where: str, accepted: str) -> Mapping[str, Any]:
    """`value` if it is an object with string keys. Raises InputError naming `what` it should have been."""
    if not isinstance(value, Mapping):
        raise InputError(f"{what} is of type {type(value).__name__}", where, accepted)
    if any(not isinstance(key, str) for key in value):
        raise InputError(f"a key of {what} is not a string", where, "string keys")
    return value


def text_field(value: Mapping[str, Any], key: str, where: str) -> str:
    """A string field, "" for null or none. Raises InputError for another type."""
    found = value.get(key) or ""
    if not isinstance(found, str):
        raise InputError(f"{key} is of type {type(found).__name__}", f"{where}.{key}", "a string")
    return found
