"""The summarizer without a model: deterministic, within its budget, and true to the letter."""

from hypothesis import given
from hypothesis import strategies as st

from contextrender.compaction.extractive import Extractive
from contextrender.compaction.slots import missing_identifiers, with_identifiers
from contextrender.compaction.summarizer import Excerpt, head_and_tail
from contextrender.tokens import count_tokens
from tests.core.conversations import TEXT

RUN = [
    Excerpt("user", "Fix the build?"),
    Excerpt("assistant", "I read the config first. Then I build."),
    Excerpt("call", '{"path": "/etc/app/config.yaml"}', "read_file"),
    Excerpt("result", "max_size: 40\nplain words only\nERROR: cannot open libfoo.so", "read_file"),
]
KINDS = st.sampled_from(["user", "assistant", "call", "result"])
EXCERPTS = st.lists(st.builds(Excerpt, KINDS, TEXT, st.just("look")), max_size=8)


def test_each_slot_is_filled_from_what_belongs_there() -> None:
    assert Extractive().summarize(RUN, 500).text == (
        "Files read:\n- /etc/app/config.yaml\n"
        "Key observations:\n- max_size: 40\n- ERROR: cannot open libfoo.so\n"
        'Commands run:\n- read_file({"path": "/etc/app/config.yaml"})\n'
        "Decisions:\n- I read the config first.\n"
        "Unresolved questions:\n- Fix the build?"
    )


def test_an_earlier_summary_is_merged_as_the_older_part() -> None:
    first = Extractive().summarize(RUN, 500).text
    later = [Excerpt("result", "version_2 is out", "look")]
    merged = Extractive().summarize(later, 500, earlier=first).text
    assert "- ERROR: cannot open libfoo.so\n- version_2 is out\n" in merged
    assert merged.count("Key observations:") == 1


@given(EXCERPTS, st.integers(1, 200), st.lists(st.sampled_from(["order_17", "C142XYZ", "never_seen"]), max_size=3))
def test_it_holds_its_budget_and_says_the_same_again(excerpts: list[Excerpt], budget: int, keep: list[str]) -> None:
    summary = Extractive().summarize(excerpts, budget, keep=keep)
    assert summary.tokens == count_tokens(summary.text) <= budget
    assert summary == Extractive().summarize(excerpts, budget, keep=keep)
    if budget >= 100:
        assert missing_identifiers(summary.text, keep) == []


@given(st.text(max_size=2000) | TEXT, st.integers(1, 120))
def test_head_and_tail_fit_and_say_that_the_middle_is_gone(text: str, budget: int) -> None:
    cut = head_and_tail(text, budget)
    assert count_tokens(cut) <= budget
    assert cut in (text, "") or "the middle of this result is left out" in cut


def test_identifiers_are_appended_first_ones_first_as_far_as_the_budget_goes() -> None:
    assert with_identifiers("has a_1", ["a_1", "b_2", "b_2"], 50, "o200k_base") == "has a_1\nVerbatim: b_2"
    short = with_identifiers("x", [f"identifier_{i}" for i in range(50)], 30, "o200k_base")
    assert short.startswith("x\nVerbatim: identifier_0, ")
    assert count_tokens(short) <= 30
