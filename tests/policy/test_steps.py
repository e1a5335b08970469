"""Selection of steps: the budget holds, what is pinned stays, and what is useful per token comes first."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from contextrender.layout import counted_tokens
from contextrender.steps import select_steps
from tests.policy.conftest import Action, Script, chances, turns, written


@given(turns(), st.integers(1, 400), st.integers(0, 9))
def test_a_selection_is_legal_and_fits(conversation: list[list[Action]], budget: int, seed: int) -> None:
    script = written(conversation)
    history = script.history
    layout = select_steps(history, budget, chances(history, seed))
    assert script.complaints(layout.shown) == []
    assert layout.tokens == counted_tokens(history, layout.shown)
    assert layout.over_budget == (layout.tokens > budget)
    assert layout.reason in ("whole", "selected", "smallest")
    if layout.over_budget:
        assert layout.reason == "smallest"
    if history.budgeted_tokens() <= budget:
        assert layout.shown == history.whole()
    places = [piece.position for piece, _ in layout.shown]
    assert places == sorted(set(places))
    if history.assistants:
        latest = history.assistants[-1]
        step = {latest.position, *(call.result for call in latest.calls)}
        assert step <= set(places)
    assert select_steps(history, budget, chances(history, seed)) == layout


def _three_steps() -> Script:
    script = Script()
    script.user("task")
    script.step("a", "one " * 20, "first thought")
    script.step("b", "two " * 20)
    script.step("c", "three " * 20)
    script.step("d", "four " * 5)
    return script


def test_the_most_useful_step_is_kept() -> None:
    script = _three_steps()
    layout = select_steps(script.history, 90, np.array([0.1, 0.9, 0.2, 0.0]))
    shown = {piece.position for piece, _ in layout.shown}
    assert {0, 3, 4, 7, 8} <= shown
    assert not {2, 6} & shown
    assert layout.tokens <= 90


def test_ties_go_to_the_older() -> None:
    script = _three_steps()
    shown = {piece.position for piece, _ in select_steps(script.history, 80, np.full(4, 0.5)).shown}
    assert 2 in shown
    assert not {4, 6} & shown


def test_old_prose_goes_first() -> None:
    script = _three_steps()
    full = script.history.budgeted_tokens()
    layout = select_steps(script.history, full - 1, np.full(4, 0.5))
    first = next(piece for piece, _ in layout.shown if piece.position == 1)
    assert first.calls == (0,)
    assert not first.prose
    assert len(layout.shown) == len(script.history)


def test_parallel_calls_are_kept_in_part() -> None:
    script = Script()
    script.user("task")
    script.assistant("", "a", "b")
    script.result("one " * 30)
    script.result("two " * 30)
    script.step("c", "three")
    layout = select_steps(script.history, 75, np.array([0.1, 0.9, 0.0]))
    assert [(piece.position, piece.calls) for piece, _ in layout.shown][1:3] == [(1, (1,)), (3, ())]


def test_pending_calls_of_the_latest_message_are_pinned() -> None:
    script = _three_steps()
    script.assistant("", "e", "f")
    script.result("five")
    layout = select_steps(script.history, 60, np.zeros(5))
    assert layout.shown[-2].key.calls == (0, 1)
    assert layout.shown[-1].key.position == len(script.history) - 1


def test_the_smallest_history_passes_the_budget_and_says_so() -> None:
    script = Script()
    script.system("rules " * 50)
    script.user("task " * 5)
    script.step("a", "one")
    script.user("middle")
    script.step("b", "two " * 30)
    script.user("latest")
    script.step("c", "three " * 30)
    layout = select_steps(script.history, 10, np.zeros(3))
    assert layout.reason == "smallest"
    assert layout.over_budget
    assert [piece.position for piece, _ in layout.shown] == [0, 1, 7, 8, 9]
