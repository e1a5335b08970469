"""The legality check finds each kind of illegal history, and passes what is legal."""

import pytest
from hypothesis import given, settings

from contextrender.legality import violations
from tests.core.conversations import Message, assistant, histories, result, step, user

WHOLE = [
    {"role": "system", "content": "rules"},
    user("task"),
    assistant("two at once", ("a", "{}"), ("b", "{}")),
    result("a", "one"),
    result("b", "two"),
    user("and now?"),
    *step("a", "again", prose="third"),
]


@given(histories())
@settings(max_examples=50)
def test_the_whole_history_is_legal(messages: list[Message]) -> None:
    assert violations(messages, messages) == []


def test_a_part_of_parallel_calls_is_legal() -> None:
    partly = [*WHOLE[:2], assistant("two at once", ("b", "{}")), WHOLE[4], *WHOLE[5:]]
    assert violations(WHOLE, partly) == []


@pytest.mark.parametrize(
    ("rendered", "complaint"),
    [
        ([*WHOLE[:3], WHOLE[4], *WHOLE[5:]], "a call without its result"),
        (WHOLE[:-1], "a call without its result"),
        ([*WHOLE[:2], *WHOLE[3:]], "a result without its call"),
        ([WHOLE[0], WHOLE[1], *WHOLE[6:], *WHOLE[2:6]], "out of order"),
        (WHOLE[1:], "a system message was dropped"),
        ([WHOLE[0], *WHOLE[2:]], "first or the latest user message"),
        ([*WHOLE[:5], *WHOLE[6:]], "first or the latest user message"),
        ([*WHOLE[:2], assistant("altered", ("a", "{}"), ("b", "{}")), *WHOLE[3:]], "not a message of the history"),
    ],
)
def test_each_kind_of_illegal_history_is_named(rendered: list[Message], complaint: str) -> None:
    assert any(complaint in text for text in violations(WHOLE, rendered))


def test_a_pending_call_may_not_be_dropped() -> None:
    whole = [user("task"), assistant("go", ("p", "{}"))]
    assert any("pending call" in text for text in violations(whole, [user("task"), assistant("go")]))
