"""Names and their use: what a name is, and every signal as its formula."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextrender.errors import InputError
from contextrender.names import FRESH_DECAY, HEAT_DECAY, NameUse, find_names, tells_error
from contextrender.usefulness import SIGNALS, load_weights, read_weights, signals, usefulness
from tests.policy.conftest import NAMES


def test_a_name_has_six_characters_and_a_mark() -> None:
    text = "tr_solo plain C142XYZ a_b 123456 x-Invoice9.tr_solo __ longword"
    assert list(find_names(text)) == ["tr_solo", "C142XYZ", "Invoice9"]


def test_the_first_appearance_anywhere_owns_a_name() -> None:
    names = NameUse()
    names.add_user("look at tr_solo")
    names.add_assistant(1, "look")
    names.add_result(0, "tr_solo C142XYZ", 1, "look", "{}")
    names.add_result(1, "C142XYZ order_17", 1, "look", "{}")
    assert names.owner == {"C142XYZ": 0, "order_17": 1}
    assert names.add_assistant(2, "tr_solo order_17 C142XYZ") == [0, 1]


def test_errors_are_looked_for_at_both_ends() -> None:
    assert tells_error("File Not Found")
    assert tells_error("x" * 5000 + " returncode>1")
    assert not tells_error("x" * 2500 + " error " + "x" * 2500)
    assert not tells_error("terrors")


def test_results_come_in_order() -> None:
    with pytest.raises(ValueError, match="0 is next"):
        NameUse().add_result(1, "", 0, "", "")


def test_every_signal_is_its_formula() -> None:
    names = NameUse()
    names.add_other("rules about sys_name")
    names.add_user("do it")
    names.add_assistant(1, "look")
    names.add_result(0, "aaa_111 bbb_222 ccc_333 sys_name", 1, "look", "{}")  # owns three names
    names.add_assistant(2, "look aaa_111 bbb_222")
    names.add_result(1, "error: aaa_111", 2, "look", '{"q": "aaa_111"}')  # owns none, shows one again
    names.add_assistant(3, "look aaa_111")
    names.add_result(2, "ddd_444", 3, "find", "{}")
    names.add_assistant(4, "look")
    names.add_user("what of ccc_333 and bbb_222 and ddd_444?")
    names.add_result(3, "ccc_333", 4, "look", '{"q": "aaa_111"}')  # the call of result 1 again
    got = signals(names, 4, np.array([0.5, -0.25, 0.0, 1.0]))
    ln, e = math.log, math.exp
    expected = {
        "recency": [e(-0.9), e(-0.6), e(-0.3), 1],
        "idle": [e(-0.3), e(-0.6), e(-0.3), 1],
        "idle_slow": [e(-0.05), e(-0.1), e(-0.05), 1],
        "used": [1, 0, 0, 0],
        "log_uses": [ln(3), 0, 0, 0],
        "heat": [0.5**2 + 0.5, 0, 0, 0],
        "use_prev": [1, 0, 0, 0],
        "has_new": [1, 0, 1, 0],
        "log_new": [ln(4), 0, ln(2), 0],
        "frac_used": [2 / 3, 0, 0, 0],
        "pending": [ln(2), 0, 0, 0],
        "fresh_pending": [ln(1 + 2 * 0.8**2) * ln(2) / 3, 0, 0, 0],
        "mentioned": [1, 0, 0, 0],
        "mentioned_user": [ln(3), 0, ln(2), 0],
        "task": [0.5, 0, 0, 1],
        # `look` had 1 + 2 + 2 chances (results × later invocations) and 2 uses, `find` had 1 and none.
        "tool_rate": [2.5 / 10, 2.5 / 10, 0.5 / 6, 2.5 / 10],
        "error": [0, 1, 0, 0],
        "same_call_later": [0, 1, 0, 0],
        "reshown": [2 / 3, 0, 0, 0],
    }
    assert list(got) == list(expected) == list(SIGNALS)
    for name, values in expected.items():
        assert got[name] == pytest.approx(values), name


def asked(*texts: str) -> NameUse:
    """Results of one call, made in invocation 1, 2, …; then an invocation that calls something else."""
    names = NameUse()
    for number, text in enumerate(texts):
        names.add_assistant(number + 1, "look")
        names.add_result(number, text, number + 1, "look", "{}")
    names.add_assistant(len(texts) + 1, "think")
    return names


def test_a_call_made_again_that_finds_the_same_shares_its_names() -> None:
    names = asked("aaa_111 bbb_222", "aaa_111 bbb_222", "aaa_111 bbb_222 more")
    assert names.add_assistant(5, "bbb_222") == [0, 1]
    assert names.column("new").tolist() == [2, 2, 0]
    assert names.column("again").tolist() == [False, True, False]


def test_what_was_asked_for_again_is_held_for_a_while() -> None:
    fade = math.exp(-0.15)
    assert asked("one", "two").asked_again().tolist() == [0, 0]
    assert asked("one", "one").asked_again() == pytest.approx([0.15 / 2 * fade**2, 0.3 * fade])
    assert asked("one", "one", "one").asked_again() == pytest.approx([0.15 * fade**3, 0.3 * fade**2, 0.3 * fade])
    p, terms = usefulness(signals(asked("one", "one"), 3, np.zeros(2)), load_weights(), np.array([0.9, 0.0]))
    assert p[0] == pytest.approx(0.9)
    assert p == pytest.approx(1 / (1 + np.exp(-sum(terms.values()))))


def test_terms_add_up_to_the_logit() -> None:
    names = NameUse()
    names.add_assistant(1, "look")
    names.add_result(0, "aaa_111", 1, "look", "{}")
    p, terms = usefulness(signals(names, 1, np.array([0.3])), load_weights())
    assert p == pytest.approx(1 / (1 + np.exp(-sum(terms.values()))))
    assert set(terms) == {"bias", *SIGNALS}


def test_no_results_have_no_usefulness() -> None:
    p, _ = usefulness(signals(NameUse(), 0, np.zeros(0)), load_weights())
    assert p.shape == (0,)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"bias": 0}',
        '{"bias": 0, "signals": {"luck": {"weight": 1, "mean": 0, "scale": 1}}}',
        '{"bias": 0, "signals": {"heat": {"weight": 1, "mean": 0, "scale": 0}}}',
    ],
)
def test_bad_weights_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_weights(text)


@given(st.lists(st.tuples(st.booleans(), st.lists(st.sampled_from(NAMES), max_size=3)), max_size=30))
def test_lazy_decay_and_counters_equal_eager_ones(events: list[tuple[bool, list[str]]]) -> None:
    names = NameUse()
    heat: list[float] = []
    fresh: list[float] = []
    owner: dict[str, int] = {}
    copies: dict[str, int] = {}
    latest: list[str] = []
    seen: set[str] = set()
    used: set[str] = set()
    turn = chances = uses = 0
    for says, words in events:
        text = " ".join(words)
        if says:
            turn += 1
            answer = names.add_assistant(turn, text)
            first: dict[int, int] = {}
            for word in dict.fromkeys(words):
                for number in (owner.get(word), copies.get(word)):
                    if number is not None:
                        first[number] = first.get(number, 0) + (word not in used)
            used.update(words)
            heat = [value * HEAT_DECAY + (number in first) for number, value in enumerate(heat)]
            fresh = [value * FRESH_DECAY + min(first.get(number, 0), 3) for number, value in enumerate(fresh)]
            chances, uses = chances + len(heat), uses + len(first)
            assert answer == sorted(first)
        else:
            new = set(words) - seen
            if latest and text == latest[-1]:
                before = len(heat) - 1
                copies.update({word: len(heat) for word in words if before in (owner.get(word), copies.get(word))})
            latest.append(text)
            owner.update(dict.fromkeys(new, len(heat)))
            names.add_result(len(heat), text, turn, "look", "{}")
            heat.append(0.0)
            fresh.append(0.0)
        seen.update(words)
    assert names.warmth("heat", HEAT_DECAY) == pytest.approx(heat)
    assert names.warmth("fresh", FRESH_DECAY) == pytest.approx(fresh)
    assert names.tool_rate() == pytest.approx([(uses + 0.5) / (chances + 5)] * len(heat))
