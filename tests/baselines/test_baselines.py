"""Each baseline as it is defined (App. B.2, and their makers' documentation), and rules that hold for all of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrender.baselines.masking import CLEARED, ClearToolUses, KeepLastN
from contextrender.baselines.registry import Settings, check_selector, label, make_selector
from contextrender.errors import InputError
from contextrender.legality import violations
from contextrender.session import Session
from tests.core.conversations import Message, assistant, histories, step, user

OURS = ["semantic", "compact", "recency+summary", "acon", "keep-last-5", "clear-tool-uses", "clear-tool-uses@B"]
CAPPED = ["semantic", "compact", "recency+summary", "acon"]


def run(count: int, words: int = 40) -> list[Message]:
    return [user("find it"), *(m for i in range(count) for m in step(f"c{i}", f"value_{i} " * words))]


def session_with(messages: list[Message]) -> Session:
    session = Session("full", 6000, "hash")
    session.ingest(messages, whole=True)
    return session


def texts(messages: list[Message]) -> list[str]:
    return [str(message["content"]) for message in messages if message["role"] == "tool"]


@pytest.mark.parametrize("name", OURS)
@settings(max_examples=25, deadline=None)
@given(messages=histories(), budget=st.integers(40, 400))
def test_every_render_is_legal_and_within_b_or_flagged(name: str, messages: list[Message], budget: int) -> None:
    selector = make_selector(name, Settings(budget))
    for end in range(1, len(messages) + 1):
        if end < len(messages) and messages[end]["role"] != "assistant":
            continue
        session = session_with(messages[:end])
        decided = selector.decide(session, {})
        assert violations(messages[:end], decided.messages(), selector.liberties) == []
        assert decided.tokens <= budget or decided.over_budget
        whole = [str(message["content"]) for message in messages[:end]]
        shown = texts(decided.messages())
        assert all(whole[position] in shown for position in decided.kept)


@pytest.mark.parametrize("name", CAPPED)
def test_a_history_that_fits_is_passed_unchanged(name: str) -> None:
    messages = run(3)
    assert make_selector(name, Settings(6000)).decide(session_with(messages), {}).messages() == messages


@pytest.mark.parametrize("name", CAPPED)
def test_a_long_run_of_plain_results_stays_within_b(name: str) -> None:
    selector = make_selector(name, Settings(600))
    for count in range(1, 25):
        assert not selector.decide(session_with(run(count)), {}).over_budget


def test_semantic_takes_three_recent_turns_first_then_the_most_similar() -> None:
    messages = run(10)
    messages[2]["content"] = "the missing invoice of march " * 20
    messages.append(assistant("Where is the missing invoice of march?"))
    kept = make_selector("semantic", Settings(900)).decide(session_with(messages), {}).kept
    assert 2 in kept
    assert {18, 20} <= set(kept)


def test_semantic_gives_recent_turns_no_more_than_60_percent_while_others_wait() -> None:
    messages = run(10, words=70)  # about 215 tokens a result with its call
    kept = make_selector("semantic", Settings(700)).decide(session_with(messages), {}).kept
    assert 20 in kept
    assert len(kept) == 3


def test_compact_replaces_everything_but_the_task_by_one_summary_and_goes_on_from_it() -> None:
    selector = make_selector("compact", Settings(600))
    first = selector.decide(session_with(run(6)), {}).messages()
    assert [message["role"] for message in first] == ["user", "user"]
    assert "value_5" in first[1]["content"]
    later = selector.decide(session_with(run(7)), {}).messages()
    assert later[:2] == first
    assert texts(later) == texts(run(7))[-1:]


def test_recency_summary_keeps_the_newest_whole_and_summarizes_the_rest() -> None:
    decided = make_selector("recency+summary", Settings(600)).decide(session_with(run(8)), {})
    assert decided.kept == sorted(decided.kept)
    assert decided.kept[-1] == 16
    summary = decided.messages()[1]["content"]
    assert "value_4" in summary
    assert "value_7" not in summary


def test_acon_keeps_the_latest_step() -> None:
    decided = make_selector("acon", Settings(600)).decide(session_with(run(8)), {})
    assert decided.kept == [16]


def test_a_model_summarizers_calls_are_spent_and_a_dead_one_leaves_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXGRAPH_API_BASE", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("CTXGRAPH_API_KEY", "k")
    monkeypatch.setenv("CTXGRAPH_RETRIES", "0")
    selector = make_selector("compact=openai/nobody", Settings(600))
    assert not selector.decide(session_with(run(8)), {}).over_budget


def test_keep_last_n_counts_the_task_and_moves_by_polling() -> None:
    def kept(count: int, n: int, polling: int) -> int:
        return len(KeepLastN(10_000, n, polling).decide(session_with(run(count)), {}).kept)

    assert [kept(count, 5, 1) for count in (3, 5, 6, 9)] == [3, 5, 5, 5]
    assert [kept(count, 5, 5) for count in (9, 10, 13, 14)] == [5, 6, 9, 5]
    line = KeepLastN(10_000, 1).decide(session_with(run(2)), {}).messages()[2]["content"]
    assert line == "Old environment output: (1 lines omitted)"


def test_clear_tool_uses_by_its_documented_defaults() -> None:
    messages = run(6)
    session = session_with(messages)
    assert ClearToolUses(600).decide(session, {}).messages() == messages
    cleared = ClearToolUses(600, trigger=600).decide(session, {})
    assert texts(cleared.messages()) == [CLEARED] * 3 + texts(messages)[3:]
    assert cleared.kept == [8, 10, 12]
    assert ClearToolUses(600, trigger=600, clear_at_least=10_000).decide(session, {}).messages() == messages
    assert ClearToolUses(600, trigger=600, exclude_tools=("look",)).decide(session, {}).messages() == messages


def test_names_say_who_summarizes() -> None:
    assert label("compact", Settings(1)) == "compact [extractive]"
    assert label("acon=openai/gpt-4.1", Settings(1)) == "acon [openai/gpt-4.1]"
    assert label("paper", Settings(1)) == "paper"
    for bad in ("compact=", "semantic=x"):
        with pytest.raises(InputError, match="unknown selector"):
            check_selector(bad)
