"""MongoDB update operators, applied to one document.

An operator that isn't here raises; MongoDB's own refusals (a conflict between two paths, a field that can't be made)
raise WriteError with MongoDB's code.
"""

from collections.abc import Callable, Iterable
from typing import Any

from pymongo.errors import WriteError

from contextrender.store.errors import (
    BAD_VALUE,
    CONFLICTING_UPDATES,
    IMMUTABLE_FIELD,
    PATH_NOT_VIABLE,
    TYPE_MISMATCH,
    unsupported,
)
from contextrender.store.keys import MISSING, encode
from contextrender.store.paths import Document
from contextrender.store.query import condition_test, filter_test, is_operators

_INT64 = 1 << 63


def apply_update(document: Document, update: Document, inserting: bool = False) -> None:
    """Change the document in place. `update` is as BSON decodes it; `inserting` lets `$setOnInsert` act.

    Raises WriteError for what MongoDB refuses and OperationFailure for unsupported operators; the document may be
    half changed then, and is to be thrown away.
    """
    identity = encode(document["_id"]) if "_id" in document else None
    seen: list[tuple[str, ...]] = []
    for name, changes in update.items():
        operator = _OPERATORS.get(name)
        if operator is None:
            raise unsupported(f"the update operator {name}")
        if not isinstance(changes, dict):
            raise WriteError(f"{name} takes a document of fields", 9)
        for field, operand in changes.items():
            path = _path(field)
            _refuse_conflict(path, seen)
            seen.append(path)
            if name != "$setOnInsert" or inserting:
                operator(document, path, operand)
    if identity is not None and encode(document.get("_id", MISSING)) != identity:
        raise WriteError("the field _id can't be changed", IMMUTABLE_FIELD)


def upsert_base(query: Document) -> Document:
    """The document that an upsert begins with: the filter's equalities."""
    document: Document = {}
    for name, operand in query.items():
        if name == "$and":
            for part in operand:
                document.update(upsert_base(part))
        elif not name.startswith("$"):
            if not is_operators(operand):
                _set(document, _path(name), operand)
            elif "$eq" in operand:
                _set(document, _path(name), operand["$eq"])
    return document


def _path(field: str) -> tuple[str, ...]:
    path = tuple(field.split("."))
    if not all(path):
        raise WriteError(f"{field!r} is no field path", 56)
    if any(name.startswith("$") for name in path):
        raise unsupported(f"the positional path {field!r}")
    return path


def _refuse_conflict(path: tuple[str, ...], seen: Iterable[tuple[str, ...]]) -> None:
    for other in seen:
        shorter = min(len(path), len(other))
        if path[:shorter] == other[:shorter]:
            where = ".".join(path)
            raise WriteError(f"Updating the path '{where}' would create a conflict at it", CONFLICTING_UPDATES)


# --- places in a document -------------------------------------------------------------------------------------------


def _holder(document: Document, path: tuple[str, ...], make: bool) -> Any:
    """The document or array that holds the last name of the path; MISSING when it isn't there and mustn't be made."""
    holder: Any = document
    for name in path[:-1]:
        value = _get(holder, name)
        if value is MISSING:
            if not make:
                return MISSING
            value = {}
            _put(holder, name, value)
        holder = value
    if make and not isinstance(holder, dict | list):
        raise WriteError(f"Cannot create field '{path[-1]}' in {'.'.join(path[:-1])}", PATH_NOT_VIABLE)
    return holder


def _get(holder: Any, name: str) -> Any:
    if isinstance(holder, dict):
        return holder.get(name, MISSING)
    if isinstance(holder, list) and name.isdecimal() and int(name) < len(holder):
        return holder[int(name)]
    return MISSING


def _put(holder: Any, name: str, value: Any) -> None:
    if isinstance(holder, dict):
        holder[name] = value
    elif isinstance(holder, list) and name.isdecimal():
        holder.extend([None] * (int(name) + 1 - len(holder)))
        holder[int(name)] = value
    else:
        raise WriteError(f"Cannot create field '{name}' in {type(holder).__name__}", PATH_NOT_VIABLE)


# --- operators ------------------------------------------------------------------------------------------------------


def _set(document: Document, path: tuple[str, ...], operand: Any) -> None:
    _put(_holder(document, path, make=True), path[-1], operand)


def _unset(document: Document, path: tuple[str, ...], _operand: Any) -> None:
    holder, name = _holder(document, path, make=False), path[-1]
    if isinstance(holder, dict):
        holder.pop(name, None)
    elif _get(holder, name) is not MISSING:
        holder[int(name)] = None


def _inc(document: Document, path: tuple[str, ...], operand: Any) -> None:
    holder = _holder(document, path, make=True)
    old = _get(holder, path[-1])
    old = 0 if old is MISSING else old
    if not _is_number(old) or not _is_number(operand):
        raise WriteError("$inc needs a number in the field and as its argument", TYPE_MISMATCH)
    total = old + operand
    if isinstance(total, int) and not -_INT64 <= total < _INT64:
        raise WriteError("$inc would overflow 64 bits", BAD_VALUE)
    _put(holder, path[-1], total)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _add_to_set(document: Document, path: tuple[str, ...], operand: Any) -> None:
    array = _array(document, path, "$addToSet")
    present = set(map(encode, array))
    for item in _each(operand, "$addToSet"):
        key = encode(item)
        if key not in present:
            present.add(key)
            array.append(item)


def _push(document: Document, path: tuple[str, ...], operand: Any) -> None:
    _array(document, path, "$push").extend(_each(operand, "$push"))


def _array(document: Document, path: tuple[str, ...], name: str) -> list[Any]:
    holder = _holder(document, path, make=True)
    array = _get(holder, path[-1])
    if array is MISSING:
        array = []
        _put(holder, path[-1], array)
    if not isinstance(array, list):
        raise WriteError(f"{name} needs an array in the field '{'.'.join(path)}'", BAD_VALUE)
    return array


def _each(operand: Any, name: str) -> list[Any]:
    if not is_operators(operand):
        return [operand]
    if set(operand) != {"$each"}:
        raise unsupported(f"a modifier of {name} other than $each")
    if not isinstance(operand["$each"], list):
        raise WriteError("$each needs an array", TYPE_MISMATCH)
    return operand["$each"]


def _pull(document: Document, path: tuple[str, ...], operand: Any) -> None:
    holder = _holder(document, path, make=False)
    array = _get(holder, path[-1])
    if array is MISSING:
        return
    if not isinstance(array, list):
        raise WriteError("Cannot apply $pull to a non-array value", BAD_VALUE)
    goes = _pull_test(operand)
    array[:] = [item for item in array if not goes(item)]


def _pull_test(operand: Any) -> Callable[[Any], bool]:
    if is_operators(operand):
        test = condition_test(operand)
        return lambda item: test([item])
    if isinstance(operand, dict):
        matches = filter_test(operand)
        return lambda item: isinstance(item, dict) and matches(item)
    wanted = encode(operand)
    return lambda item: encode(item) == wanted


_OPERATORS: dict[str, Callable[[Document, tuple[str, ...], Any], None]] = {
    "$set": _set,
    "$setOnInsert": _set,
    "$unset": _unset,
    "$inc": _inc,
    "$addToSet": _add_to_set,
    "$push": _push,
    "$pull": _pull,
}
