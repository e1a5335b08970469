"""Large results: complete while they fit, then a pointer, a summary or head and tail; refs only where redeemable."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrender import Policy, Session
from contextrender.compaction.extractive import Extractive
from contextrender.compaction.summarizer import Excerpt, Summary, head_and_tail
from contextrender.legality import violations
from contextrender.policy import POLICIES
from contextrender.tokens import count_tokens
from tests.policy.test_checkpoints import call
from tests.policy.test_context import Message, opened, step, texts

DEFAULT = replace(POLICIES["default"], lifecycle=False)
EACH = replace(POLICIES["default@every_call"])
PAPER = POLICIES["paper"]
REF = re.compile(r"ref (r\d+)")


class Names(Extractive):
    """A summarizer that says what it was asked to shorten, or that it can't."""

    def __init__(self, failure: str = "") -> None:
        super().__init__()
        self.asked: list[tuple[str, int]] = []
        self.failure = failure

    def compact(self, call: str, result: str, budget: int) -> Summary:
        self.asked.append((call, budget))
        if self.failure:
            text = head_and_tail(result, budget)
            return Summary(text, count_tokens(text), "head+tail", self.failure)
        return Summary(f"the gist of {call}"[: 3 * budget], min(budget, 12), "names")

    def summarize(
        self,
        excerpts: Any,
        budget: int,
        earlier: str = "",
        keep: Any = (),
        guideline: str = "",
    ) -> Summary:
        raise AssertionError(f"not asked for {list[Excerpt](excerpts)[:1]}")


def large(number: int, words: int = 700) -> list[Message]:
    """A call with a large result."""
    text = f"big_{number} " + " ".join(f"row{number}x{row}" for row in range(words)) + f" end_{number}"
    return call(number, "dump", {"table": f"t{number}"}, text)


def driven(policy: Policy, budget: int = 2500, **options: Any) -> tuple[Session, list[list[Message]]]:
    """A session with a few large results among small ones, rendered after each step."""
    session = opened(policy, budget, **options)
    renders = []
    original = [{"role": "system", "content": "rules"}, {"role": "user", "content": "find all items"}]
    for number in range(24):
        fresh = large(100 + number, 150) if number % 4 == 1 else step(number, 30)
        original += fresh
        session.ingest(fresh, whole=False)
        rendered = session.render()
        assert rendered.tokens <= budget
        assert violations(original, rendered.messages, ["altered results"]) == []
        renders.append(rendered.messages)
    return session, renders


@pytest.mark.parametrize("policy", [DEFAULT, EACH])
@pytest.mark.parametrize("form", ["pointer", "summary", "head_tail"])
def test_a_large_result_without_room_is_a_short_form_with_a_ref_that_recalls_it(policy: Policy, form: Any) -> None:
    policy = replace(policy, large=form, large_tokens=200)
    session, renders = driven(policy, recall=True, summarizer=Names() if form == "summary" else None)
    refs = {ref for messages in renders for ref in REF.findall(texts(messages))}
    assert refs
    for ref in refs:
        assert "big_" in session.recall(ref)["content"]
    shown = texts(renders[-1])
    assert ("the gist of dump" in shown) == (form == "summary")
    assert ("is left out" in shown) == (form == "head_tail")
    explained = session.explain(session.render().snapshot_id)
    assert "shortened" in {result.fate for result in explained.results}
    assert "shortened" in {one.kind for one in explained.shown}


@pytest.mark.parametrize("policy", [DEFAULT, EACH])
def test_a_shortened_result_does_not_count_as_kept(policy: Policy) -> None:
    session, _ = driven(replace(policy, large_tokens=200), recall=True)
    rendered = session.render()
    fates = {result.ref: result.fate for result in session.explain(rendered.snapshot_id).results}
    assert "shortened" in fates.values()
    assert not any(fates[ref] == "shortened" for ref in rendered.kept)


def test_without_recall_no_pointer_is_shown_and_renders_are_as_without() -> None:
    assert driven(replace(DEFAULT, large_tokens=200))[1] == driven(replace(DEFAULT, large="omit"))[1]
    _, renders = driven(replace(DEFAULT, large="head_tail", large_tokens=200))
    assert not any(REF.search(texts(messages)) for messages in renders)


def test_while_everything_fits_everything_is_complete() -> None:
    session, renders = driven(DEFAULT, 100_000, recall=True)
    assert not REF.search(texts(renders[-1]))
    assert session.render().omitted == ()


@pytest.mark.parametrize("policy", [DEFAULT, EACH])
def test_a_latest_result_that_alone_passes_the_budget_is_shortened_so_that_the_budget_holds(policy: Policy) -> None:
    session = opened(replace(policy, large="head_tail"), 800)
    for number in range(3):
        session.ingest(large(number), whole=False)
        rendered = session.render()
        assert not rendered.over_budget
        assert rendered.tokens <= 800
        assert f"big_{number} " in texts(rendered.messages)
        assert f"end_{number}" in texts(rendered.messages)
        assert session.render().messages == rendered.messages
    session.ingest(step(9), whole=False)
    assert session.render().tokens <= 800


def test_the_papers_policy_compacts_only_what_alone_exceeds_the_budget_and_only_where_it_fits() -> None:
    names = Names()
    session = opened(PAPER, 1000, summarizer=names)
    for number, words in enumerate((150, 700, 150, 150)):
        session.ingest(large(number, words), whole=False)
        rendered = session.render()
        assert rendered.tokens <= 1000
    assert {asked for asked, _ in names.asked} == {'dump {"table": "t1"}'}
    assert "the gist of dump" in texts(rendered.messages)
    without = opened(PAPER, 1000)
    for number, words in enumerate((150, 700, 150, 150)):
        without.ingest(large(number, words), whole=False)
    assert "t1" not in texts(without.render().messages)


def test_when_the_summarizer_fails_its_head_and_tail_stand_there_and_the_trace_says_so() -> None:
    session = opened(replace(DEFAULT, large="summary"), 800, summarizer=Names("the model is away"))
    session.ingest(large(1), whole=False)
    rendered = session.render()
    assert "end_1" in texts(rendered.messages)
    assert "the model is away" in str(session.explain(rendered.snapshot_id).why)


@given(
    st.lists(st.integers(0, 260), min_size=3, max_size=16),
    st.integers(200, 1500),
    st.sampled_from(["pointer", "summary", "head_tail"]),
    st.sampled_from([DEFAULT, EACH, POLICIES["default"], PAPER]),
    st.booleans(),
)
@settings(max_examples=50, deadline=None)
def test_short_forms_keep_histories_legal_and_within_the_budget(
    sizes: list[int], budget: int, form: Any, policy: Policy, recall: bool
) -> None:
    session = opened(
        replace(policy, large=form, large_tokens=60), budget, recall=recall, contract=recall, summarizer=Extractive()
    )
    original = [{"role": "system", "content": "rules"}, {"role": "user", "content": "find all items"}]
    sent: list[Message] = []
    for number, words in enumerate(sizes):
        fresh = large(number, words)
        original += fresh
        session.ingest(fresh, whole=False)
        rendered = session.render()
        assert rendered.tokens <= budget or rendered.over_budget
        reason = session.explain(rendered.snapshot_id).reason
        bare = [m for m in rendered.messages if "How this conversation is shown" not in str(m["content"])]
        assert violations(original, bare, ["altered results"]) == []
        assert session.render().messages == rendered.messages
        if reason == "append":
            assert rendered.messages[: len(sent)] == sent
        sent = rendered.messages
