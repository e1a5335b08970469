"""The task context: what the host tells is kept in the graph, shown once while it holds, under the budget."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrender import Policy, Session
from contextrender.context.facts import HEADINGS, Fact, checked_fact, current_facts
from contextrender.context.tail import DELTA_HEADING
from contextrender.errors import InputError
from contextrender.legality import violations

Message = dict[str, Any]
CACHE_AWARE = ["default", "auto"]
EVERY = [*CACHE_AWARE, "paper", "default@every_call", "full"]


def step(number: int, words: int = 60) -> list[Message]:
    """One call and its result."""
    call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": f'{{"q": "q{number}"}}'}}
    return [
        {"role": "assistant", "content": f"Looking for {number}.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"item_{number} " + "filler " * words},
    ]


def opened(policy: str | Policy = "default", budget: int = 700, **options: Any) -> Session:
    """A session with a system prompt and a task."""
    session = Session(policy, budget, "hash", **options)
    session.ingest([{"role": "system", "content": "rules"}, {"role": "user", "content": "find all items"}])
    return session


def texts(messages: list[Message]) -> str:
    """All contents."""
    return "\n".join(str(message.get("content") or "") for message in messages)


@pytest.mark.parametrize("policy", EVERY)
@pytest.mark.parametrize("contract", [False, True])
def test_what_is_told_is_shown_exactly_once_and_under_the_budget(policy: str, contract: bool) -> None:
    session = opened(policy, contract=contract)
    session.note("constraint", "Never touch production")
    for number in range(12):
        session.ingest(step(number), whole=False)
        if number == 3:
            session.note("decision", "Use the blue database", key="database")
        if number == 8:
            session.note("decision", "Use the green database", key="database")
        rendered = session.render()
        shown = texts(rendered.messages)
        assert shown.count("Never touch production") == 1
        assert shown.count("Use the blue database") <= 1
        assert (shown.count("Use the blue database") == 1) or not 3 <= number < 8
        assert shown.count("Use the green database") == (number >= 8)
        assert rendered.tokens <= 700 or policy == "full" or policy == "auto"
        notes = [m for m in rendered.messages if str(m["content"]).startswith(DELTA_HEADING)]
        assert all(note["role"] == "user" for note in notes)
    assert bool(texts(rendered.messages).count("What holds for the whole task")) == contract


def test_without_notes_and_contract_a_render_is_the_clients_own() -> None:
    session = opened(budget=10_000)
    session.ingest(step(1), whole=False)
    assert session.render().messages == session.render().messages
    assert len(session.render().messages) == 4


def test_where_no_note_may_stand_at_the_tail_none_does() -> None:
    session = opened(tail_notes=False)
    for number in range(12):
        session.ingest(step(number), whole=False)
        session.note("evidence", f"fact {number}")
        messages = session.render().messages
        assert [m["role"] for m in messages].count("user") == 1
        assert "fact" not in texts(messages)


def test_no_note_parts_a_call_from_its_result() -> None:
    session = opened()
    call, result = step(1)
    session.ingest([call], whole=False)
    session.note("approval_pending", "delete the table")
    assert "delete the table" not in texts(session.render().messages)
    session.ingest([result], whole=False)
    assert session.render().messages[-1]["content"] == f"{DELTA_HEADING}\n- Waiting for approval: delete the table"


def test_an_approval_holds_until_it_is_resolved() -> None:
    facts: list[Fact] = []

    def tell(kind: str, text: str, **fields: Any) -> list[str]:
        facts.append(checked_fact(kind, text, fields, 0))
        return [fact.text for fact in current_facts(facts)]

    assert tell("approval_pending", "drop a", key="a") == ["drop a"]
    assert tell("approval_pending", "drop b") == ["drop a", "drop b"]
    assert tell("approval_resolved", "yes to b") == ["drop a", "yes to b"]
    assert tell("approval_resolved", "no to a", key="a") == ["yes to b", "no to a"]
    assert tell("plan_step", "one") == ["yes to b", "no to a", "one"]
    assert tell("plan_step", "two") == ["yes to b", "no to a", "two"]


def test_telling_the_same_again_changes_nothing() -> None:
    session = opened()
    for _ in range(3):
        session.note("permission", "may read all files", key="read", by="ann")
    assert len(session.history.facts) == 1


def test_what_reads_the_same_is_shown_once_and_holds_while_one_key_holds_it() -> None:
    session = opened(contract=True)
    for key in ("one", "two", "one", "two"):
        session.note("constraint", "never delete", key=key)
    assert len(session.history.facts) == 2
    shown = texts(session.render().messages)
    assert shown.count("- Constraint: never delete") == 1
    session.note("constraint", "delete at night", key="one")
    assert [fact.text for fact in current_facts(session.history.facts)] == ["never delete", "delete at night"]


def test_bad_notes_are_refused() -> None:
    session = opened()
    with pytest.raises(InputError, match="approval_pending"):
        session.note("gossip", "x")
    with pytest.raises(InputError, match=r"note\.text"):
        session.note("decision", "  ")
    with pytest.raises(InputError, match=r"note\.fields"):
        session.note("decision", "x", thing=object())
    assert session.history.facts == []


def test_fields_are_kept_for_audit_and_never_shown() -> None:
    session = opened(contract=True)
    session.note("constraint", "stay in the budget", ticket="TRACE-77")
    session.note("evidence", "the log is rotated", event_id="ev_123456")
    shown = texts(session.render().messages)
    assert shown.count("stay in the budget") == shown.count("the log is rotated") == 1
    assert "TRACE-77" not in shown
    assert "ev_123456" not in shown
    assert session.history.facts[0].fields == {"ticket": "TRACE-77"}


KINDS = st.sampled_from(list(HEADINGS))
TOLD = st.tuples(KINDS, st.integers(0, 5), st.none() | st.sampled_from("ab"))


@given(
    st.lists(st.lists(TOLD, max_size=3), min_size=4, max_size=16),
    st.integers(250, 1500),
    st.sampled_from(EVERY[:-1]),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_renders_with_notes_are_legal_fit_and_only_append_between_checkpoints(
    told: list[list[tuple[str, int, str | None]]], budget: int, policy: str, contract: bool
) -> None:
    session = opened(policy, budget, contract=contract)
    sent: list[Message] = []
    original = [{"role": "system", "content": "rules"}, {"role": "user", "content": "find all items"}]
    for number, facts in enumerate(told):
        fresh = step(number, 10 * (number % 7))
        original += fresh
        session.ingest(fresh, whole=False)
        for kind, text, key in facts:
            session.note(kind, f"said {text}", **({"key": key} if key else {}))
        rendered = session.render()
        assert rendered.tokens <= budget or rendered.over_budget or policy == "auto"
        assert session.render().messages == rendered.messages
        explained = session.explain(rendered.snapshot_id)
        start = [message for message in rendered.messages if "How this conversation is shown" in str(message)]
        assert len(start) == contract
        bare = [message for message in rendered.messages if message not in start]
        assert violations(original, bare) == []
        if explained.reason in ("append", "whole") and policy in CACHE_AWARE:
            assert rendered.messages[: len(sent)] == sent
        sent = rendered.messages
