"""The tests that the article on cache-aware rendering asks for, by name, on generated and recorded sessions."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrender import Rendered, Session
from contextrender.compaction.extractive import Extractive
from contextrender.context.checkpoint import CHECKPOINT_HEADING
from contextrender.context.facts import DURABLE, HEADINGS, current_facts
from contextrender.context.tail import DELTA_HEADING
from contextrender.legality import violations
from contextrender.policy import POLICIES
from contextrender.trace import Explained
from tests.core.conversations import histories

Message = dict[str, Any]
Told = dict[int, list[tuple[str, str, dict[str, Any]]]]
RUNS = Path(__file__).parents[2] / "examples" / "runs"
POLICY = replace(POLICIES["default"], checkpoint_every=5, checkpoint_note=True, large="summary", large_tokens=200)


@dataclass(frozen=True)
class Step:
    """One render of a driven session: what it had to choose from, what it sent, and its trace."""

    known: list[Message]
    rendered: Rendered
    explained: Explained
    session: Session

    @property
    def sent(self) -> list[Message]:
        return self.rendered.messages

    @property
    def start(self) -> list[Message]:
        """System prompts and the stable start."""
        return [message for message in self.sent if message["role"] == "system"]

    @property
    def notes(self) -> list[int]:
        """Where notes of ours stand at the tail."""
        kinds = ("delta", "checkpoint", "restored")
        return [at for at, shown in enumerate(self.explained.shown) if shown.kind in kinds]


def driven(messages: list[Message], told: Told, budget: int) -> Iterator[Step]:
    """The renders before each assistant message; facts are told when that many messages are there."""
    session = Session(POLICY, budget, "hash", contract=True, recall=True, summarizer=Extractive())
    known = 0
    for kind, text, fields in told.get(0, ()):
        session.note(kind, text, **fields)
    for position, message in enumerate(messages):
        if message["role"] != "assistant" or position == 0:
            continue
        for at in range(known, position):
            session.ingest([messages[at]], whole=False)
            for kind, text, fields in told.get(at + 1, ()):
                session.note(kind, text, **fields)
        known = position
        rendered = session.render()
        yield Step(messages[:position], rendered, session.explain(rendered.snapshot_id), session)


FACT = st.tuples(
    st.sampled_from(list(HEADINGS)),
    st.integers(0, 9).map(lambda number: f"told fact {number} of the task"),
    st.fixed_dictionaries(
        {"event_id": st.integers(0, 9).map(lambda number: f"ev_00{number}")},
        optional={"key": st.sampled_from(["one", "two"])},
    ),
)
TOLD = st.dictionaries(st.integers(0, 20), st.lists(FACT, max_size=2), max_size=6)


@st.composite
def generated(draw: st.DrawFn) -> list[Step]:
    """A made-up session with facts told here and there."""
    messages = draw(histories(pending=False))
    long = draw(histories(pending=False))
    for offset, message in enumerate(long[1:] if long[0]["role"] == "system" else long):
        again = {"content": message["content"] + f" again {offset}"} if message["role"] == "user" else {}
        messages.append(message | again)
    return list(driven(messages, draw(TOLD), draw(st.integers(250, 900))))


def _recorded() -> list[list[Step]]:
    told: Told = {
        0: [("constraint", "Never cancel what is paid", {"event_id": "ev_001"}), ("output_rule", "Answer briefly", {})],
        5: [("decision", "The user chose the cheapest one", {"event_id": "ev_002", "key": "choice"})],
        9: [("approval_pending", "Send the message", {"key": "send"}), ("plan_step", "Compare the prices", {})],
        13: [("approval_resolved", "Sending is approved", {"key": "send"}), ("evidence", "The invoice is paid", {})],
    }
    runs: list[list[Step]] = []
    for path in sorted(RUNS.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines()[:3]:
            messages = json.loads(line)["messages"]
            runs += [list(driven(messages, told, budget)) for budget in (1200, 3000)]
    return runs


@pytest.fixture(scope="module")
def recorded() -> list[list[Step]]:
    """Recorded sessions of the app world, with facts told at four points."""
    runs = _recorded()
    assert any(step.explained.reason == "checkpoint" for run in runs for step in run)
    return runs


def check_stable_prefix(run: list[Step]) -> None:
    """The start is byte-identical in every render, and each render begins with the last input or its start."""
    for before, after in pairwise(run):
        assert json.dumps(before.start) == json.dumps(after.start)
        if after.explained.reason in ("append", "whole"):
            assert json.dumps(after.sent[: len(before.sent)]) == json.dumps(before.sent)
    for step in run:
        assert "How this conversation is shown to you" in step.start[-1]["content"]


def check_no_volatile_ids(run: list[Step]) -> None:
    """No call id, raw ref, snapshot id, event id or time stands in the start that we write."""
    for step in run:
        text = step.start[-1]["content"]
        ids = {message.get("tool_call_id", "") for message in step.known} - {""}
        ids |= {*step.rendered.kept, *step.rendered.omitted, step.rendered.snapshot_id}
        assert not any(re.search(rf"\b{re.escape(one)}\b", text) for one in ids)
        assert "ev_00" not in text
        assert not re.search(r"\d{5,}|\d\d:\d\d", text)


def check_notes_behind_transcript(run: list[Step]) -> None:
    """A new note stands behind everything that was known when it was written, but for a user message that is last."""
    for before, after in pairwise(run):
        old = {shown.hash for shown in before.explained.shown}
        for at in after.notes:
            if after.explained.shown[at].hash in old:
                continue
            behind = [shown for shown in after.explained.shown[at + 1 :] if shown.kind in ("message", "result")]
            assert len(behind) <= 1
            assert all(shown.role == "user" and shown.position == len(after.known) - 1 for shown in behind)


def check_order(run: list[Step]) -> None:
    """Calls and results are in transcript order, each with its partner, at their place."""
    for step in run:
        ours = step.start[-1]
        assert violations(step.known, [m for m in step.sent if m is not ours], ["altered results"]) == []
        mine, given_ = (
            {breach.split(": ", 1)[1] for breach in step.session.wire.breaches(messages)}
            for messages in (step.sent, step.known)
        )
        assert mine <= given_


def check_current_facts(run: list[Step]) -> None:
    """Each fact that holds is shown, once; the task and the latest user message are there."""
    for number, step in enumerate(run):
        if step.rendered.over_budget or step.explained.reason == "smallest" or step.explained.facts_left_out:
            continue
        # The session has gone on since: look at what was told by then.
        facts = [fact for fact in step.session.history.facts if fact.position <= len(step.known)]
        text = "\n".join(str(message.get("content") or "") for message in step.sent)
        lines = text.split("\n")
        for fact in current_facts(facts):
            assert lines.count(fact.line) == 1, (number, fact.line)
        users = [message["content"] for message in step.known if message["role"] == "user"]
        for user in users[:1] + users[-1:]:
            assert user in text


def without_reuse(explained: Explained) -> Explained:
    """The trace but for the values that were reused, which are those of today."""
    return replace(explained, results=[replace(result, reused_values=[]) for result in explained.results])


def check_trace(run: list[Step]) -> None:
    """Snapshot and trace name what was sent, message by message, and the fate and terms of every result."""
    for step in run:
        explained = step.explained
        assert len(explained.shown) == len(step.sent)
        assert explained.total_tokens == sum(shown.tokens for shown in explained.shown)
        assert explained.prefix_tokens == sum(shown.tokens for shown in explained.shown if shown.cached)
        assert 0 < explained.cost <= explained.total_tokens
        assert len(explained.results) == sum(message["role"] == "tool" for message in step.known)
        shown_refs = {result.ref for result in explained.results if result.fate in ("kept", "restored")}
        assert shown_refs == set(step.rendered.kept)
        assert all(result.terms for result in explained.results) or explained.reason == "whole"
        if explained.reason == "checkpoint":
            assert explained.why["decision"]
        later = step.session.explain(step.rendered.snapshot_id)
        assert without_reuse(later) == without_reuse(explained)
        assert f"policy {explained.policy}" in str(explained)


def check_large_results(run: list[Step]) -> None:
    """What stands for a large result is shorter, and names a ref that recalls the original."""
    for step in run:
        by_position = {shown.position: message for shown, message in zip(step.explained.shown, step.sent, strict=True)}
        for shown in step.explained.shown:
            if shown.kind != "shortened":
                continue
            content = by_position[shown.position]["content"]
            ref = re.findall(r"ref (r\d+)\]$", content)[-1]
            original = step.session.recall(ref)["content"]
            assert original == step.known[shown.position]["content"]
            assert len(content) < len(original)


CHECKS = {
    "stable_prefix_is_identical_while_facts_are_stable": check_stable_prefix,
    "no_volatile_ids_in_the_stable_prefix": check_no_volatile_ids,
    "deltas_and_checkpoints_stand_behind_the_transcript": check_notes_behind_transcript,
    "the_order_of_calls_and_results_is_unbroken": check_order,
    "current_facts_are_always_present": check_current_facts,
    "snapshot_and_trace_explain_the_selection": check_trace,
    "large_results_are_summary_and_ref": check_large_results,
}


@pytest.mark.parametrize("name", CHECKS)
def test_on_recorded_sessions(name: str, recorded: list[list[Step]]) -> None:
    for run in recorded:
        CHECKS[name](run)


@given(generated())
@settings(max_examples=60, deadline=None)
def test_on_generated_sessions(run: list[Step]) -> None:
    for check in CHECKS.values():
        check(run)


def test_the_recorded_sessions_show_what_is_tested(recorded: list[list[Step]]) -> None:
    kinds = {shown.kind for run in recorded for step in run for shown in step.explained.shown}
    assert {"message", "result", "start", "delta", "checkpoint", "shortened"} <= kinds
    texts = [str(message["content"]) for run in recorded for step in run for message in step.sent]
    assert any(text.startswith(DELTA_HEADING) for text in texts)
    assert any(text.startswith(CHECKPOINT_HEADING) for text in texts)
    assert {fact.kind for run in recorded for fact in run[-1].session.history.facts} > set(DURABLE[:1])


@given(st.integers(0, 100_000), st.integers(0, 100_000), st.floats(0.01, 60))
def test_cached_token_share_and_prefill_latency_are_recorded_from_the_providers_metadata(
    cached: int, uncached: int, seconds: float
) -> None:
    session = Session("default", 6000, "hash")
    session.ingest([{"role": "user", "content": "go"}])
    rendered = session.render()
    response = {
        "choices": [{"message": {"role": "assistant", "content": "done"}, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": cached + uncached,
            "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }
    usage = session.wire.reply(response).usage
    assert usage is not None
    session.record_usage(rendered.snapshot_id, usage, seconds)
    recorded = session.explain(rendered.snapshot_id).usage
    assert recorded is not None
    assert recorded.cached_share == (cached / (cached + uncached) if cached + uncached else 0)
    assert (recorded.uncached, recorded.output, recorded.prefill_seconds) == (uncached, 7, seconds)
    assert "from its cache" in str(session.explain(rendered.snapshot_id))
