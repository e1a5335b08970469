"""MongoDB filters: as a test of one document, and as the SQL condition that finds the candidates by an index.

The SQL may find too much, never too little: every candidate is tested in Python unless the condition is exact.
Filters are given as BSON decodes them (`normal`), so every operand has one of the types that `keys` knows.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from typing import Any, Protocol

import bson
from bson import Regex
from pymongo.errors import OperationFailure

from contextrender.store.errors import BAD_VALUE, unsupported
from contextrender.store.keys import AFTER, MISSING, UNORDERED, encode
from contextrender.store.paths import Document, values_at

Test = Callable[[Document], bool]
ValuesTest = Callable[[list[Any]], bool]

OPAQUE = AFTER  # the index key of a document that only the test in Python can judge


def normal(document: Mapping[str, Any]) -> Document:
    """The document as the database would give it back. Raises bson.errors.InvalidDocument as PyMongo does."""
    return bson.decode(bson.encode(document))


def filter_test(query: Document) -> Test:
    """The test that a filter stands for. Raises OperationFailure for a bad or unsupported one."""
    tests = [_clause(name, operand) for name, operand in query.items()]
    if len(tests) == 1:
        return tests[0]
    return lambda document: all(test(document) for test in tests)


def _clause(name: str, operand: Any) -> Test:
    if name in ("$and", "$or", "$nor"):
        if not isinstance(operand, list) or not operand or not all(isinstance(part, dict) for part in operand):
            raise OperationFailure(f"{name} must be a nonempty array of documents", BAD_VALUE)
        tests = [filter_test(part) for part in operand]
        if name == "$and":
            return lambda document: all(test(document) for test in tests)
        wanted = name == "$or"
        return lambda document: any(test(document) for test in tests) is wanted
    if name.startswith("$"):
        raise unsupported(f"the query operator {name}")
    path = tuple(name.split("."))
    test = condition_test(operand)
    return lambda document: test(values_at(document, path))


def is_operators(operand: Any) -> bool:
    """Whether a condition is made of operators (`{"$gt": 1}`) and not a literal."""
    return isinstance(operand, dict) and next(iter(operand), "").startswith("$")


def condition_test(operand: Any) -> ValuesTest:
    """The test of a field's values that a condition (a literal or a document of operators) stands for."""
    if not is_operators(operand):
        return _equals(operand)
    tests = [_operator(name, value) for name, value in operand.items()]
    if len(tests) == 1:
        return tests[0]
    return lambda values: all(test(values) for test in tests)


def _operator(name: str, operand: Any) -> ValuesTest:
    match name:
        case "$eq":
            return _equals(operand)
        case "$ne":
            return _negated(_equals(operand))
        case "$in":
            return _among(name, operand)
        case "$nin":
            return _negated(_among(name, operand))
        case "$exists":
            wanted = bool(operand)
            return lambda values: any(value is not MISSING for value in values) is wanted
        case "$gt" | "$gte" | "$lt" | "$lte":
            return _compares(name, operand)
        case _ if name.startswith("$"):
            raise unsupported(f"the query operator {name}")
        case _:
            raise OperationFailure(f"unknown operator: {name}", BAD_VALUE)


def _negated(test: ValuesTest) -> ValuesTest:
    return lambda values: not test(values)


def _value_keys(values: list[Any]) -> Iterator[bytes]:
    for value in values:
        yield encode(value)
        if isinstance(value, list):
            yield from map(encode, value)


def _literal(operand: Any) -> bytes:
    if isinstance(operand, Regex):
        raise unsupported("a regular expression in a filter")
    return encode(operand)


def _equals(operand: Any) -> ValuesTest:
    wanted = _literal(operand)
    return lambda values: wanted in _value_keys(values)


def _among(name: str, operand: Any) -> ValuesTest:
    if not isinstance(operand, list):
        raise OperationFailure(f"{name} needs an array", BAD_VALUE)
    wanted = frozenset(map(_literal, operand))
    return lambda values: not wanted.isdisjoint(_value_keys(values))


def _compares(name: str, operand: Any) -> ValuesTest:
    limit = _literal(operand)
    kind = limit[:1]
    if kind in UNORDERED:
        raise unsupported(f"{name} with a {type(operand).__name__}")
    match name:
        case "$gt":
            return lambda values: any(key[:1] == kind and key > limit for key in _value_keys(values))
        case "$gte":
            return lambda values: any(key[:1] == kind and key >= limit for key in _value_keys(values))
        case "$lt":
            return lambda values: any(key[:1] == kind and key < limit for key in _value_keys(values))
        case _:
            return lambda values: any(key[:1] == kind and key <= limit for key in _value_keys(values))


# --- to SQL ---------------------------------------------------------------------------------------------------------


class Indexed(Protocol):
    """What planning needs to know of an index: its fields in order and the column that holds its keys."""

    @property
    def fields(self) -> tuple[str, ...]: ...
    @property
    def column(self) -> str: ...
    @property
    def fold(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Plan:
    """An SQL condition on a documents table that holds for every match.

    `sure` is an SQL expression: true for a row that needs no test in Python.
    """

    where: str = ""
    parameters: tuple[Any, ...] = ()
    sure: str = "0"


def plan(query: Document, table: str, indexes: Iterable[Indexed]) -> Plan:
    """The narrowest condition that `_id` or one of the indexes offers; the empty plan means every document."""
    if not query:
        return Plan(sure="1")
    if "_id" in query and (by_id := _by_id(query["_id"], table, "1" if len(query) == 1 else "0")):
        return by_id
    best, most = Plan(), 0
    for index in indexes:
        if index.fold:
            continue
        low, high, used, exact = _range(query, index.fields)
        if used > most:
            sure = f"{index.column} <> x'{OPAQUE.hex()}'" if exact and used == len(query) else "0"
            where = (
                f"seq IN (SELECT seq FROM {table} WHERE {index.column} >= ? AND {index.column} < ?"
                f" UNION ALL SELECT seq FROM {table} WHERE {index.column} = ?)"
            )
            best, most = Plan(where, (low, high, OPAQUE), sure), used
    return best


def _by_id(operand: Any, table: str, sure: str) -> Plan | None:
    if not is_operators(operand):
        return Plan("id = ?", (encode(operand),), sure)
    wanted = operand.get("$in")
    if not isinstance(wanted, list):
        return None
    keys = dumps([encode(item).hex() for item in wanted])
    where = f"seq IN (SELECT seq FROM json_each(?) CROSS JOIN {table} ON {table}.id = from_hex(value))"
    return Plan(where, (keys,), sure if len(operand) == 1 else "0")


def _range(query: Document, fields: Sequence[str]) -> tuple[bytes, bytes, int, bool]:
    """The half-open range of index keys that the filter allows, how many of the filter's conditions it uses, and
    whether it expresses those completely."""
    prefix, used, all_exact = b"", 0, True
    for field in fields:
        if field not in query:
            break
        low, high, exact = _bounds(query[field])
        if not low:
            break
        used, all_exact = used + 1, all_exact and exact
        if high is not None:
            return prefix + low, prefix + high, used, all_exact
        prefix += low
    return prefix, prefix + AFTER, used, all_exact


def _bounds(operand: Any) -> tuple[bytes, bytes | None, bool]:
    """(low, high) of a range, (key, None) of an equality, (b"", None) of anything else; and whether it says it all."""
    if not is_operators(operand):
        return encode(operand), None, True
    if "$eq" in operand:
        return encode(operand["$eq"]), None, len(operand) == 1
    lows, highs = [], []
    for name, value in operand.items():
        key = encode(value)
        match name:
            case "$gte" | "$gt":
                lows.append(key + AFTER if name == "$gt" else key)
                highs.append(bytes([key[0] + 1]))
            case "$lte" | "$lt":
                lows.append(key[:1])
                highs.append(key + AFTER if name == "$lte" else key)
            case _:
                pass
    one_kind = len({low[:1] for low in lows}) == 1
    return max(lows, default=b""), min(highs, default=None), one_kind and len(lows) == len(operand)
