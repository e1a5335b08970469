"""When a checkpoint is made: by steps, at lifecycle events, when the cache has run out; and the note it may leave."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrender import Session
from contextrender.compaction.extractive import Extractive
from contextrender.context.checkpoint import CHECKPOINT_HEADING
from contextrender.context.observed import lifecycle_events
from contextrender.policy import POLICIES, Policy
from contextrender.trace import Explained
from tests.policy.test_context import Message, opened, step, texts

DEFAULT = replace(POLICIES["default"], lifecycle=False)


def call(number: int, tool: str, arguments: dict[str, Any], result: str) -> list[Message]:
    """A call of any tool, and its result."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": f"x{number}", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": f"x{number}", "content": result},
    ]


def run(policy: Policy, steps: int = 40, budget: int = 900, **options: Any) -> tuple[Session, list[Explained]]:
    """A session rendered after each step, with the trace of each render."""
    session = opened(policy, budget, **options)
    explained = []
    for number in range(steps):
        session.ingest(step(number, 40), whole=False)
        explained.append(session.explain(session.render().snapshot_id))
    return session, explained


def checkpoints(explained: list[Explained]) -> list[int]:
    """The turns of the checkpoints."""
    return [one.turn for one in explained if one.reason == "checkpoint"]


def test_a_checkpoint_comes_every_n_steps_if_asked_and_never_in_between_for_that_reason() -> None:
    _, usual = run(DEFAULT, budget=2000)
    _, often = run(replace(DEFAULT, checkpoint_every=5), budget=2000)
    turns = checkpoints(often)
    assert len(turns) > len(checkpoints(usual))
    due = [one.turn for one in often if "steps since" in one.why.get("decision", "")]
    assert due
    assert all(turn - before >= 5 for before, turn in pairwise(turns) if turn in due)


@given(st.integers(1, 6), st.lists(st.integers(0, 80), min_size=5, max_size=30))
@settings(max_examples=25, deadline=None)
def test_a_checkpoint_that_is_due_always_leaves_a_shorter_input(every: int, sizes: list[int]) -> None:
    session = opened(replace(DEFAULT, checkpoint_every=every), 900)
    for number, words in enumerate(sizes):
        session.ingest(step(number, words), whole=False)
        explained = session.explain(session.render().snapshot_id)
        assert explained.tokens <= 900
        if "steps since" in explained.why.get("decision", ""):
            assert explained.reason == "checkpoint"
        assert session.explain(session.render().snapshot_id).reason in ("append", "whole")


@pytest.mark.parametrize(
    ("before", "fresh", "event"),
    [
        ([], [call(1, "run", {}, "Error: x"), call(2, "run", {"a": 1}, "failed")], None),
        (
            [call(1, "run", {}, "Error: x"), call(2, "run", {"a": 1}, "failed")],
            [call(3, "run", {"b": 1}, "No such file")],
            "tool errors repeat",
        ),
        ([call(1, "run", {"a": 1}, "Error: x")], [call(2, "run", {"a": 1}, "done")], "a retry begins"),
        ([call(1, "run", {"a": 1}, "done")], [call(2, "run", {"a": 1}, "done")], None),
        (
            [call(n, "write_file", {"path": f"src/f{n}.py"}, "ok") for n in range(4)],
            [call(4, "write_file", {"path": "src/f4.py"}, "ok")],
            "many files changed",
        ),
        (
            [[{"role": "assistant", "content": "Shall I delete it?"}]],
            [[{"role": "user", "content": "Yes, go on"}]],
            "a confirmation is resolved",
        ),
        ([[{"role": "assistant", "content": "Done."}]], [[{"role": "user", "content": "Yes, go on"}]], None),
    ],
)
def test_lifecycle_events_are_seen_once(
    before: list[list[Message]], fresh: list[list[Message]], event: str | None
) -> None:
    session = opened()
    for messages in before:
        session.ingest(messages, whole=False)
    seen = len(session.history)
    for messages in fresh:
        session.ingest(messages, whole=False)
    assert lifecycle_events(session.history, seen, []) == ((event,) if event else ())
    session.ingest(call(9, "look", {"q": 1}, "fine"), whole=False)
    assert lifecycle_events(session.history, len(session.history) - 2, []) == ()


def test_at_a_lifecycle_event_a_checkpoint_needs_no_margin() -> None:
    session, _ = run(replace(DEFAULT, lifecycle=True), 20)
    session.note("plan_step", "write the report")
    session.ingest(step(20), whole=False)
    why = session.explain(session.render().snapshot_id).why
    assert why["events"] == ["the plan enters a new step"]
    assert why["margin"] == 0
    session.ingest(step(21), whole=False)
    why = session.explain(session.render().snapshot_id).why
    assert why["events"] == []
    assert why["margin"] > 0


def test_a_cache_that_has_run_out_is_not_reckoned_with() -> None:
    session, _ = run(DEFAULT, 20)
    session.ingest(step(20), whole=False)
    for entry in session.history.entries[-2:]:
        entry.node.created += 301
    explained = session.explain(session.render().snapshot_id)
    assert explained.why["cache_cold"]
    assert explained.cost == explained.total_tokens
    session.ingest(step(21), whole=False)
    session.history.entries[-1].node.created = session.history.entries[-3].node.created + 1
    assert not session.explain(session.render().snapshot_id).why["cache_cold"]


def test_a_checkpoint_note_says_what_was_left_out_and_what_was_reused_of_it() -> None:
    session = opened(replace(DEFAULT, checkpoint_note=True), 1500, recall=True)
    noted = ""
    for number in range(40):
        messages = step(number, 40)
        if number == 5:
            messages += call(100, "write_file", {"path": "src/app.py", "text": "item_3"}, "written")
        session.ingest(messages, whole=False)
        rendered = session.render()
        assert rendered.tokens <= 1500
        noted += "".join(m["content"] for m in rendered.messages if str(m["content"]).startswith(CHECKPOINT_HEADING))
    assert "item_3" in noted
    assert "src/app.py" in noted
    assert "ref r" in noted
    assert "find all items" not in noted  # the goal stands in the first user message


@pytest.mark.parametrize("recall", [False, True])
def test_a_ref_is_named_only_where_something_redeems_it(recall: bool) -> None:
    session = opened(replace(DEFAULT, checkpoint_note=True, checkpoint_every=3), 900, recall=recall, contract=True)
    named = ""
    for number in range(20):
        session.ingest(step(number, 40), whole=False)
        named += texts(session.render().messages)
    assert ("ref r" in named) == recall


def test_a_checkpoint_note_may_be_written_by_a_summarizer() -> None:
    session = opened(replace(DEFAULT, checkpoint_note=True), 1500, summarizer=Extractive())
    noted = ""
    for number in range(40):
        session.ingest(step(number, 40), whole=False)
        rendered = session.render()
        assert rendered.tokens <= 1500
        noted += "".join(m["content"] for m in rendered.messages if str(m["content"]).startswith(CHECKPOINT_HEADING))
    assert "Key observations:\n- item_" in noted  # its typed slots
