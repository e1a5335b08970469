"""Policy `paper`: Algorithm 1, Eq. 2–7, App. A.3–A.4. Each test names its rule."""

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrender.history import Entry
from contextrender.legality import violations
from contextrender.policy import POLICIES, Policy
from contextrender.selection import greedy
from contextrender.session import Session
from contextrender.signals import ROUNDING, View, score
from contextrender.tokens import count_tokens
from tests.core.conversations import Message, assistant, histories, result, step, user

FILLER = " ".join(["filler"] * 100)


def embed_by_first_letter(texts: list[str]) -> Any:
    """Orthogonal vectors by the first letter of a text; empty texts are zero vectors."""
    vectors = np.zeros((len(texts), 26))
    for row, text in zip(vectors, texts, strict=True):
        if text:
            row[(ord(text[0].lower()) - ord("a")) % 26] = 1
    return vectors


def session(budget: int = 150, policy: str | Policy = "paper", **options: Any) -> Session:
    return Session(policy=policy, budget=budget, embedder=options.pop("embedder", embed_by_first_letter), **options)


def kept_texts(messages: list[Message], made: Session) -> list[str]:
    made.ingest(messages)
    return [message["content"] for message in made.render().messages if message["role"] == "tool"]


def test_a_history_that_fits_is_returned_unchanged() -> None:
    messages = [user("task"), *step("a", "one"), user("next")]
    made = session(10_000)
    made.ingest(messages)
    assert made.render().messages == messages


def test_the_current_user_message_and_system_messages_are_outside_the_budget() -> None:
    messages = [{"role": "system", "content": FILLER}, user("task"), *step("a", "one"), user(FILLER)]
    made = session(40)
    made.ingest(messages)
    rendered = made.render()
    assert rendered.messages == messages
    assert rendered.tokens == 4 + 1 + 4 + (4 + 1 + 1) + 4 + 1


def test_tokens_are_counted_by_the_formula() -> None:
    messages = [user("task"), assistant("hello there", ("a", '{"x": 1}')), result("a", "one two")]
    made = session(10_000)
    made.ingest(messages)
    expected = 4 + count_tokens("task") + 4 + count_tokens("hello there")
    expected += 4 + count_tokens("look") + count_tokens('{"x": 1}') + 4 + count_tokens("one two")
    assert made.render().tokens == expected


def test_age_counts_invocations_and_is_zero_for_the_latest_turn() -> None:
    made = session()
    made.ingest(
        [user("t"), assistant(None, ("a", "{}"), ("b", "{}")), result("a", "x"), result("b", "y"), *step("c", "z")]
    )
    assert View(made.history, made.embeddings).ages.tolist() == [1, 1, 0]


def test_usefulness_is_the_weighted_sum_of_equation_2() -> None:
    made = session()
    made.ingest([user("alpha"), *step("a", "alpha C142XYZ"), *step("b", "beta", '{"id": "C142XYZ"}')])
    total, terms = score(View(made.history, made.embeddings), POLICIES["paper"].weights)
    assert terms["recency"] == pytest.approx([math.exp(-0.3), 1.0])
    assert terms["reuse"] == pytest.approx([1 - math.exp(-0.2), 0.0])
    assert terms["relevance"] == pytest.approx([1.0, 0.0])
    assert total == pytest.approx(sum(terms.values()))


def test_the_task_is_clipped_to_2000_characters_and_results_to_8000() -> None:
    seen: list[str] = []

    def embed(texts: list[str]) -> Any:
        seen.extend(texts)
        return np.ones((len(texts), 2))

    made = session(50, embedder=embed)
    made.ingest([user("t" * 5000), *step("a", "r" * 9000), *step("b", "s" * 9000)])
    made.render()
    assert sorted({len(text) for text in seen if set(text) in ({"t"}, {"r"}, {"s"})}) == [2000, 5000, 8000]


def test_one_text_is_embedded_once_in_a_sessions_life() -> None:
    seen: list[str] = []

    def embed(texts: list[str]) -> Any:
        seen.extend(texts)
        return np.ones((len(texts), 2))

    made = session(60, embedder=embed)
    messages = [user("task")]
    for turn in range(6):
        messages += step(f"c{turn}", f"result {turn % 3} {FILLER}")
        made.ingest(messages)
        made.render()
    assert len(seen) == len(set(seen))


def test_exact_ties_go_to_the_older_result() -> None:
    messages = [
        user("task"),
        assistant(None, ("a", "{}"), ("b", "{}")),
        result("a", f"x old {FILLER}"),
        result("b", f"x new {FILLER}"),
    ]
    assert kept_texts(messages, session()) == [f"x old {FILLER}"]


def test_a_result_that_does_not_fit_is_skipped_and_others_stay_eligible() -> None:
    messages = [user("task"), *step("a", "small"), *step("b", FILLER * 3)]
    assert kept_texts(messages, session()) == ["small"]


def test_there_is_no_minimum_score() -> None:
    messages = [user("task"), *step("a", "zeta"), *(m for i in range(60) for m in step(f"x{i}", f"q{i}"))]
    policy = Policy("flat", {"recency": 0.0, "reuse": 1.0})
    made = session(500, policy)
    made.ingest(messages)
    rendered = made.render()
    assert rendered.kept
    assert all(trace.score <= 0 for trace in made.explain(rendered.snapshot_id).results)
    assert rendered.tokens > 500 - max(entry.tokens + 20 for entry in made.history.results)


def test_similar_results_are_avoided_by_half_their_similarity() -> None:
    messages = [user("task"), *step("a", f"a {FILLER}"), *step("b", f"b one {FILLER}"), *step("c", f"b two {FILLER}")]
    policy = Policy("flat", {"recency": 0.1})
    assert kept_texts(messages, session(260, policy)) == [f"a {FILLER}", f"b two {FILLER}"]


def test_selected_results_come_back_in_chronological_order_with_their_calls() -> None:
    messages = [user("task"), *(m for i in range(8) for m in step(f"c{i}", f"{chr(97 + i)} {FILLER}"))]
    made = session(400)
    made.ingest(messages)
    rendered = made.render()
    assert violations(messages, rendered.messages) == []
    assert [m for m in messages if m in rendered.messages] == rendered.messages


def test_unselected_results_stay_in_the_graph_and_can_come_back() -> None:
    messages = [user("task"), *step("a", f"a C142XYZ {FILLER}"), *step("b", f"b {FILLER}"), *step("c", f"c {FILLER}")]
    made = session(160)
    assert kept_texts(messages, made) == [f"c {FILLER}"]
    more = [m for i in range(4) for m in step(f"d{i}", "d", '{"id": "C142XYZ"}')]
    assert f"a C142XYZ {FILLER}" in kept_texts(messages + more, made)
    assert made.recall("r1")["content"] == f"a C142XYZ {FILLER}"


def test_overfull_messages_drop_results_then_assistant_steps_then_user_messages() -> None:
    messages = [
        user("task"),
        assistant(FILLER),
        user("two"),
        assistant("short"),
        user(f"three {FILLER}"),
        *step("a", "x"),
        user("four"),
    ]
    made = session(130)
    made.ingest(messages)
    rendered = made.render()
    assert [m["content"] for m in rendered.messages] == ["task", "two", "short", f"three {FILLER}", "four"]
    assert not rendered.over_budget


def test_what_cannot_fit_is_the_smallest_legal_history_and_says_so() -> None:
    messages = [user(FILLER), *step("a", "x"), assistant("answer"), user("two"), assistant("b"), user("last")]
    made = session(20)
    made.ingest(messages)
    rendered = made.render()
    assert [m["content"] for m in rendered.messages] == [FILLER, "last"]
    assert rendered.over_budget


def test_the_ablations_of_table_3_are_configurations() -> None:
    assert POLICIES["rec"].weights == {"recency": 1.0}
    assert POLICIES["rel"].weights == {"relevance": 1.0}
    assert POLICIES["rec+rel"].weights == {"recency": 1.0, "relevance": 1.0}
    assert {POLICIES[name].similarity_penalty for name in ("paper", "rec", "rel", "rec+rel")} == {0.5}


@given(histories(), st.integers(1, 600), st.sampled_from(["paper", "rec", "rel", "rec+rel", "prune"]))
@settings(max_examples=150, deadline=None)
def test_every_render_is_legal_within_the_budget_or_flagged_and_mutates_nothing(
    messages: list[Message], budget: int, policy: str
) -> None:
    before = copy.deepcopy(messages)
    made = session(budget, policy)
    made.ingest(messages)
    rendered = made.render()
    assert violations(messages, rendered.messages) == []
    assert rendered.over_budget or rendered.tokens <= budget
    assert messages == before
    current = rendered.messages[-1:] if messages[-1]["role"] == "user" else []
    again = Session("full", 10**9, embed_by_first_letter)
    again.ingest([*rendered.messages[: len(rendered.messages) - len(current)], assistant("end")])
    assert again.render().tokens - 4 - count_tokens("end") == rendered.tokens


def naive_greedy(view: View, scores: Any, room: int) -> list[int]:
    """Algorithm 1, lines 15–20, word for word."""
    results, vectors, used = view.history.results, view.vectors, 0
    selected: list[int] = []

    def step_tokens(entry: Entry) -> int:
        assert entry.call is not None
        return entry.tokens + entry.call.tokens + view.history.entries[entry.call.position].tokens

    while True:
        best, best_score = None, -math.inf
        for number, entry in enumerate(results):
            cost = step_tokens(entry)
            if number in selected or used + cost > room:
                continue
            nearest = max((round(float(vectors[number] @ vectors[other]), ROUNDING) for other in selected), default=0.0)
            value = scores[number] - 0.5 * max(0.0, nearest)
            if value > best_score:
                best, best_score = number, value
        if best is None:
            return selected
        selected.append(best)
        used += step_tokens(results[best])


@given(st.integers(0, 2**32 - 1), st.integers(50, 3000))
@settings(max_examples=30, deadline=None)
def test_the_lazy_greedy_selects_what_the_full_search_selects(seed: int, room: int) -> None:
    rng = np.random.default_rng(seed)
    made = session(embedder=lambda texts: rng.standard_normal((len(texts), 4)))
    count = int(rng.integers(1, 400))
    made.ingest(
        [user("t"), *(m for i in range(count) for m in step(f"c{i}", f"{i} " + "w " * int(rng.integers(1, 30))))]
    )
    view = View(made.history, made.embeddings)
    scores = np.round(rng.random(count), 1)
    assert greedy(view, scores, room, 0.5) == naive_greedy(view, scores, room)
