"""Requests taken apart and put together: nothing changes but the list, and a list that grew is not read again."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextrender.proxy.body import Body, BodyError, Known, read_body

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
MESSAGES = st.lists(st.dictionaries(st.text(max_size=4), JSON, max_size=3), max_size=6)


def written(value: Any, ascii_only: bool, wide: bool) -> bytes:
    return json.dumps(value, ensure_ascii=ascii_only, indent=1 if wide else None).encode("utf-8", "replace")


def read(raw: bytes, known: Known | None = None) -> Body:
    return read_body(raw, "messages", known or Known())


@given(JSON, MESSAGES, JSON, st.booleans(), st.booleans())
def test_a_body_with_the_same_elements_says_the_same(
    before: Any, messages: list[Any], after: Any, ascii_only: bool, wide: bool
) -> None:
    raw = written({"model": before, "messages": messages, "tools": after}, ascii_only, wide)
    body = read(raw)
    assert {**body.fields, "messages": body.elements.values} == json.loads(raw)
    again = body.with_list([body.elements.source(index) for index in range(len(body.elements))])
    assert json.loads(again) == json.loads(raw)
    if not wide:
        assert again.replace(b", ", b",") == raw.replace(b", ", b",")


@given(MESSAGES, MESSAGES, MESSAGES)
def test_what_was_read_before_changes_nothing(shared: list[Any], one: list[Any], other: list[Any]) -> None:
    known = Known()
    for messages in (shared, shared + one, shared + other, one, shared + one + other, shared):
        raw = json.dumps({"messages": messages, "x": 1}).encode()
        body, fresh = read(raw, known), read(raw)
        assert body.elements == fresh.elements
        assert body.elements.values == messages


def test_a_list_that_grew_is_scanned_only_where_it_grew() -> None:
    known = Known()
    messages = [{"role": "user", "content": f"message {number}"} for number in range(50)]
    first = read(json.dumps({"messages": messages}).encode(), known)
    second = read(json.dumps({"messages": [*messages, {"role": "user"}], "n": 1}).encode(), known)
    assert all(one is other for one, other in zip(first.elements.values[1:], second.elements.values[1:], strict=False))
    changed = [*messages[:30], {"role": "user", "content": "edited"}]
    third = read(json.dumps({"messages": changed}).encode(), known)
    assert third.elements.values == changed
    assert third.elements.values[29] is first.elements.values[29]


def test_what_is_remembered_stays_within_its_limit() -> None:
    known = Known(10_000)
    for number in range(500):
        text = json.dumps({"messages": [{"role": "user", "content": f"{number}" * 100}]})
        read(text.encode(), known)
    assert known._size <= 10_000
    assert known._size == sum(len(e.text) for held in known._held.values() for e in held)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"nope",
        b'{"messages": [}',
        b'{"messages": [{}',
        b'{"messages": [{}] "x": 1}',
        b'{"messages": [{}],}',
        b'{"messages": [{},]}',
        b'{"messages": [], "messages": [{}]}',
        b'{"messages": [{}], "messages": [{}]}',
        b'{"x": 1, "x": 2}',
        b'{"messages": []} more',
        b'{"messages": ["\xff"]}',
        b'{"messages": [1 2]}',
        b'{"messages": ' + b"[" * 100_000,
        b'{messages: []}',
        b'{"messages" []}',
    ],
)
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    with pytest.raises(BodyError):
        read(raw)


def test_a_list_of_other_things_or_none_is_no_message_list() -> None:
    assert read(b'{"messages": "hi"}').fields == {"messages": "hi"}
    assert read(b'{"x": 1}').elements.values == []
