"""Dotted field paths in a document, through embedded documents and arrays, as MongoDB follows them."""

from typing import Any

from contextrender.store.keys import MISSING

Document = dict[str, Any]


def values_at(document: Document, path: tuple[str, ...]) -> list[Any]:
    """All values that a filter on this path looks at.

    A field that isn't there counts as MISSING; an array on the way is entered (its documents, and the element of a
    numeric name), and one without anything to enter gives no value at all.
    """
    value: Any = document
    for depth, name in enumerate(path):
        if isinstance(value, dict):
            value = value.get(name, MISSING)
        elif isinstance(value, list):
            return _through(value, path[depth:])
        else:
            return [MISSING]
    return [value]


def _through(array: list[Any], path: tuple[str, ...]) -> list[Any]:
    name = path[0]
    found: list[Any] = []
    if name.isdecimal() and int(name) < len(array):
        found += values_at({name: array[int(name)]}, path)
    for element in array:
        if isinstance(element, dict):
            found += values_at(element, path)
    return found


def single_value(document: Document, path: tuple[str, ...]) -> tuple[Any, bool]:
    """The value at the path, and whether it is the only one: False where an array is met or is the value."""
    value: Any = document
    for name in path:
        if not isinstance(value, dict):
            return MISSING, not isinstance(value, list)
        value = value.get(name, MISSING)
    return value, not isinstance(value, list)
