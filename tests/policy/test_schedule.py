"""The cache-aware schedule: what is sent begins like what was sent, unless a checkpoint pays."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrender.layout import RESTORED_NOTE, Layout, counted_tokens
from contextrender.schedule import AUTO, BUDGETED, append_or_checkpoint
from tests.policy.conftest import Action, Script, chances, turns

EAGER = replace(BUDGETED, reuse_value=400.0, rewrite_margin=5.0)
"""Constants with which small histories see checkpoints and restores."""


@given(turns(4), st.integers(60, 600), st.booleans())
@settings(max_examples=200)
def test_every_render_is_legal_and_fits(conversation: list[list[Action]], budget: int, eager: bool) -> None:
    script, last, seen = Script(), None, 0
    history = script.history
    constants = EAGER if eager else BUDGETED
    for turn, actions in enumerate(conversation):
        for action in actions:
            action(script)
        p = chances(history, turn)
        layout = append_or_checkpoint(history, budget, p, last, seen, constants)
        assert append_or_checkpoint(history, budget, p, last, seen, constants) == layout
        assert script.complaints(layout.shown) == []
        assert layout.tokens == counted_tokens(history, layout.shown)
        assert layout.over_budget == (layout.tokens > budget)
        assert layout.reason in ("whole", "append", "checkpoint", "smallest")
        if layout.over_budget:
            assert layout.reason == "smallest"
        if layout.reason == "append" and last is not None:
            assert layout.shown[: len(last.shown)] == last.shown
        places = [piece.position for piece, _ in layout.shown if not piece.note]
        assert places == sorted(set(places))
        results = [piece.position for piece, _ in layout.shown if history.entries[piece.position].number >= 0]
        assert len(results) == len(set(results))
        latest = history.assistants[-1] if history.assistants else None
        if latest is not None:
            step = {latest.position, *(call.result for call in latest.calls)}
            assert step <= {piece.position for piece, _ in layout.shown}
        if last is not None and last.reason != "whole":
            assert layout.reason != "whole"
        again = append_or_checkpoint(history, budget, p, layout, len(history), constants)
        assert again.shown == layout.shown
        last, seen = layout, len(history)


def _long(budget: int, useful: int | None = None) -> tuple[Script, Layout, int]:
    script = Script()
    script.system("rules")
    script.user("task")
    last: Layout | None = None
    seen = 0
    for number in range(8):
        script.step(f"q{number}", f"r{number} " * 30)
        p = np.full(number + 1, 0.001)
        if useful is not None and useful <= number:
            p[useful] = 0.5
        last, seen = append_or_checkpoint(script.history, budget, p, last, seen), len(script.history)
    assert last is not None
    return script, last, seen


def test_everything_is_sent_while_it_fits() -> None:
    script, layout, _ = _long(1000)
    assert layout.reason == "whole"
    assert layout.shown == script.history.whole()


def test_what_is_useful_survives() -> None:
    script, layout, _ = _long(150, useful=0)
    assert script.history.results[0].position in {piece.position for piece, _ in layout.shown}
    assert layout.tokens <= 150


def test_a_result_that_becomes_useful_is_restored_at_the_tail() -> None:
    script, layout, seen = _long(150)
    wanted = script.history.results[0]
    assert wanted.position not in {piece.position for piece, _ in layout.shown}
    script.user("and now?")
    p = np.full(8, 0.001)
    p[0] = 0.9
    layout = append_or_checkpoint(script.history, 150, p, layout, seen)
    notes = [at for at, (piece, _) in enumerate(layout.shown) if piece.note]
    assert [layout.shown[at].key.position for at in notes] == [wanted.position]
    assert layout.shown[notes[0]].key.note == RESTORED_NOTE
    assert notes == [len(layout.shown) - 2]
    assert layout.shown[-1].key.position == len(script.history) - 1


def test_no_note_stands_between_a_call_and_its_result() -> None:
    script, layout, seen = _long(150)
    script.assistant("", "a", "b")
    script.result("one")
    p = np.full(9, 0.001)
    p[0] = 0.9
    layout = append_or_checkpoint(script.history, 150, p, layout, seen)
    seen = len(script.history)
    assert not any(piece.note for piece, _ in layout.shown)
    script.result("two")
    layout = append_or_checkpoint(script.history, 150, np.append(p, 0.001), layout, seen)
    assert script.complaints(layout.shown) == []


def test_a_window_is_the_only_wall_of_auto() -> None:
    script, last, seen = Script(), None, 0
    script.user("task")
    for number in range(8):
        script.step(f"q{number}", f"r{number} " * 30)
        layout = append_or_checkpoint(script.history, 100, np.full(number + 1, 0.3), last, seen, AUTO, 10_000)
        last, seen = layout, len(script.history)
    assert last is not None
    assert last.reason == "append"
    assert last.shown == script.history.whole()
    assert not last.over_budget
