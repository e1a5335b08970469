"""The Python API: idempotent ingest, forks, snapshots, explain, recall."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrender.errors import InputError, NotFoundError
from contextrender.graph.archetypes import Value
from contextrender.session import Session
from tests.core.conversations import Message, assistant, histories, result, step, user

LONG = "word " * 200


def session(budget: int = 6000, policy: str = "paper") -> Session:
    return Session(policy=policy, budget=budget, embedder="hash")


def state(made: Session) -> list[Message]:
    return made.render(budget=10**9).messages


@given(histories(pending=False), st.data())
@settings(max_examples=60, deadline=None)
def test_whole_lists_and_tails_in_any_pieces_give_the_same_state(messages: list[Message], data: st.DataObject) -> None:
    made = session()
    at = 0
    while at < len(messages):
        end = data.draw(st.integers(at + 1, len(messages)))
        whole = data.draw(st.booleans())
        new = made.ingest(messages[:end], whole=True) if whole else made.ingest(messages[at:end], whole=False)
        assert new == messages[at:end] or not whole
        at = end
        if len(state(made)) != at:  # a tail that begins like the end of the branch is read as a repetition
            return
    assert state(made) == messages


@given(histories())
@settings(max_examples=60, deadline=None)
def test_ingesting_the_same_list_again_changes_nothing(messages: list[Message]) -> None:
    made = session()
    assert made.ingest(messages) == messages
    before = (len(made.history), made.node.minted, list(made.history.reuse.scores))
    assert made.ingest(copy.deepcopy(messages)) == []
    assert (len(made.history), made.node.minted, list(made.history.reuse.scores)) == before
    assert state(made) == messages


def test_a_tail_that_repeats_the_end_of_the_branch_is_not_added_twice() -> None:
    made = session()
    made.ingest([user("task"), *step("a", "one")])
    assert made.ingest([result("a", "one"), assistant("done")]) == [assistant("done")]


def test_an_edited_conversation_forks_and_shares_its_prefix() -> None:
    made = session()
    made.ingest([user("task"), *step("a", "C142XYZ"), assistant("C142XYZ")])
    first = made.history
    made.ingest([user("task"), *step("a", "C142XYZ"), assistant("no")])
    assert made.history is not first
    assert [e.node for e in made.history.entries[:3]] == [e.node for e in first.entries[:3]]
    assert (first.reuse.scores, made.history.reuse.scores) == ([1.0], [0.0])
    made.ingest([user("task"), *step("a", "C142XYZ"), assistant("C142XYZ"), user("more")])
    assert made.history is first


@given(histories(pending=False), histories(pending=False), st.integers(0, 10))
@settings(max_examples=40, deadline=None)
def test_a_fork_renders_like_a_session_that_only_saw_the_fork(one: list[Message], two: list[Message], at: int) -> None:
    edited = one[:at] + two
    forked, fresh = session(200), session(200)
    forked.ingest(one, whole=True)
    forked.ingest(edited, whole=True)
    fresh.ingest(edited, whole=True)
    assert forked.render().messages == fresh.render().messages
    assert forked.history.reuse.scores == fresh.history.reuse.scores
    assert forked.history.reuse.holders == fresh.history.reuse.holders


def test_value_nodes_are_made_at_the_first_reuse_only() -> None:
    made = session()
    made.ingest([user("task"), *step("a", "C142XYZ order_17 order_18"), assistant("use C142XYZ")])
    assert [(key[1], type(node)) for key, node in made.history.value_nodes.items()] == [("C142XYZ", Value)]


def test_a_repeated_call_id_belongs_to_the_latest_earlier_call() -> None:
    made = session()
    made.ingest([user("task"), *step("a", "one"), *step("a", "two")])
    assert [entry.call.position for entry in made.history.results if entry.call] == [1, 3]


def test_rendered_messages_can_be_changed_without_harm() -> None:
    messages = [user("task"), *step("a", "one")]
    made = session()
    made.ingest(messages)
    made.render().messages[1]["tool_calls"].clear()
    assert made.render().messages == messages


def test_explain_gives_each_results_terms_score_and_fate_as_they_were() -> None:
    made = session(budget=460)
    made.ingest(
        [user("task"), *step("a", f"C142XYZ {LONG}"), *step("b", LONG), *step("c", f"{LONG} z", '{"id": "C142XYZ"}')]
    )
    rendered = made.render()
    before = made.explain(rendered.snapshot_id)
    made.ingest([user("later"), assistant("C142XYZ")])
    assert made.explain(rendered.snapshot_id) == before
    assert [r.ref for r in before.results if r.fate == "kept"] == list(rendered.kept)
    assert [r.ref for r in before.results if r.fate == "omitted"] == list(rendered.omitted)
    assert before.results[0].reused_values == ["C142XYZ"]
    for trace in before.results:
        assert trace.score == pytest.approx(sum(trace.terms.values()))


def test_unknown_ids_are_refused() -> None:
    made = session()
    with pytest.raises(NotFoundError, match="s9"):
        made.explain("s9")
    with pytest.raises(NotFoundError, match="r9"):
        made.recall("r9")


@pytest.mark.parametrize("budget", [0, -1, True, 1.5, "6000"])
def test_a_bad_budget_is_refused(budget: object) -> None:
    with pytest.raises(InputError, match="budget"):
        Session(budget=budget)  # type: ignore[arg-type]


def test_a_bad_message_changes_nothing() -> None:
    made = session()
    with pytest.raises(InputError, match=r"messages\[1\]"):
        made.ingest([user("task"), {"role": "robot"}])
    assert len(made.history) == 0


def test_an_unknown_policy_or_embedder_lists_what_there_is() -> None:
    with pytest.raises(InputError, match="paper"):
        Session(policy="nope")
    with pytest.raises(InputError, match="wordllama"):
        Session(embedder="nope")
