"""Chat Completions to events and back, loss-free; bad input says where and what is accepted."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextrender.errors import InputError
from contextrender.transcripts.chat import build_message, parse_message, parse_messages
from contextrender.transcripts.wire import Part, part_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
CONTENT = (
    st.none()
    | st.text()
    | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": st.text()}, optional={"cache_control": JSON}))
    | st.just([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}])
)
CALL = st.fixed_dictionaries(
    {
        "id": st.text(max_size=5),
        "type": st.just("function"),
        "function": st.fixed_dictionaries({"name": st.text(min_size=1), "arguments": st.text()}),
    },
    optional={"index": st.integers(0, 5)},
)
MESSAGE = st.one_of(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "developer", "user"]), "content": CONTENT}, optional={"name": st.text()}
    ),
    st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": CONTENT},
        optional={
            "tool_calls": st.none() | st.lists(CALL, max_size=3),
            "refusal": st.none(),
            "reasoning": JSON,
            "x": JSON,
        },
    ),
    st.fixed_dictionaries(
        {"role": st.just("tool"), "tool_call_id": st.text(), "content": CONTENT},
        optional={"name": st.text(), "x": JSON},
    ),
    st.fixed_dictionaries({"content": CONTENT, "role": st.just("tool"), "tool_call_id": st.text()}),
)


def rebuilt(message: dict[str, Any]) -> dict[str, Any] | None:
    return build_message(part_of(parse_message(message)))


@given(MESSAGE)
def test_a_message_with_everything_kept_comes_back_byte_for_byte(message: dict[str, Any]) -> None:
    before = copy.deepcopy(message)
    assert json.dumps(rebuilt(message)) == json.dumps(before)
    assert message == before


def test_lone_surrogates_and_huge_integers_survive() -> None:
    message = {"role": "tool", "tool_call_id": "c", "content": "a\ud800b", "x": 2**80}
    assert rebuilt(message) == message


@given(st.lists(CALL, min_size=2, max_size=4))
def test_keeping_some_calls_keeps_their_bytes_and_order(calls: list[dict[str, Any]]) -> None:
    event = parse_message({"role": "assistant", "content": "hi", "tool_calls": calls, "extra": 1})
    some = dict(list(enumerate(event.calls))[::2])
    kept = build_message(Part("assistant", event.text, event.payload, calls=some, cut=True))
    assert kept == {"role": "assistant", "content": "hi", "tool_calls": calls[::2], "extra": 1}


def test_the_text_of_content_parts_is_joined_by_a_newline() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "b"}]
    assert parse_message({"role": "user", "content": parts}).text == "a\nb"


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ("hi", "messages[0]"),
        ({"role": "robot", "content": "x"}, "messages[0].role"),
        ({"role": "user", "content": 7}, "messages[0].content"),
        ({"role": "user", "content": [3]}, "messages[0].content"),
        ({"role": "assistant", "tool_calls": 3}, "messages[0].tool_calls"),
        ({"role": "assistant", "tool_calls": [{"id": "x"}]}, "messages[0].tool_calls[0]"),
        ({"role": "assistant", "tool_calls": [{"id": 5, "function": {"name": "f"}}]}, "messages[0].tool_calls[0].id"),
        ({"role": "tool", "tool_call_id": 5, "content": "x"}, "messages[0].tool_call_id"),
        ({"role": "user", "content": "x", "y": object()}, "messages[0]"),
        ({"role": "user", "content": "x", 5: 1}, "messages[0]"),
    ],
)
def test_bad_messages_are_refused_with_their_place(message: Any, where: str) -> None:
    with pytest.raises(InputError) as error:
        parse_messages([message])
    assert error.value.where == where
    assert error.value.accepted


def test_a_string_is_not_a_list_of_messages() -> None:
    with pytest.raises(InputError, match="list of chat messages"):
        parse_messages("hello")
