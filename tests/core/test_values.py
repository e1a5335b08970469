"""App. A.2, value abstraction and matching rules; each test names the rule it checks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextrender.names import find_names
from contextrender.values import arguments_text, call_text, extract_values


def values(text: str) -> list[str]:
    return list(extract_values(text))


@pytest.mark.parametrize("separator", list("\"'`()[]{}<>,:;/\\ \t\n@=|#!?é"))
def test_quotes_brackets_commas_colons_slashes_and_whitespace_separate(separator: str) -> None:
    assert values(f"abc_123{separator}def_456") == ["abc_123", "def_456"]


def test_inner_periods_hyphens_and_underscores_stay() -> None:
    assert values("a.b-c_d1") == ["a.b-c_d1"]


def test_leading_and_trailing_periods_hyphens_and_underscores_are_stripped() -> None:
    assert values("--order_17.. _C142XYZ_-") == ["order_17", "C142XYZ"]


def test_six_characters_must_remain_after_stripping() -> None:
    assert values("abc_1. abcd_1.") == ["abcd_1"]
    assert values("ab_12--- C142X") == []


@pytest.mark.parametrize("value", ["abc_def", "abcDef", "abcde1", "abc-def", "abc.def"])
def test_one_underscore_upper_case_letter_digit_hyphen_or_period_is_needed(value: str) -> None:
    assert values(value) == [value]


def test_plain_lower_case_words_are_no_values() -> None:
    assert values("kathrynmaldonado settled everything") == []


def test_purely_alphabetic_titlecase_words_are_excluded() -> None:
    assert values("Kathryn Maldonado McDonald KATHRYN Kathryn1") == ["McDonald", "KATHRYN", "Kathryn1"]


def test_case_is_kept() -> None:
    assert values("abcDEF abcdef_ ABCdef") == ["abcDEF", "ABCdef"]


def test_paths_are_split_at_slashes() -> None:
    assert values("/srv/app_config/Main.py") == ["app_config", "Main.py"]


def test_email_addresses_split_at_the_at_sign() -> None:
    found = values("kathrynmaldonado@gmail.com tr_solo@gmail.com nan_ritt@gmail.com")
    assert found == ["gmail.com", "tr_solo", "nan_ritt"]


def test_each_value_is_listed_once() -> None:
    assert values("ab_123 ab_123 ab_123") == ["ab_123"]


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_every_value_is_a_value_by_itself(text: str) -> None:
    for value in values(text):
        assert values(value) == [value]
        assert value in text


def test_arguments_are_matched_in_their_decoded_strings_and_keys() -> None:
    assert values(arguments_text('{"text": "\\nC142XYZ", "user_name": ["a_b_c_d"]}')) == [
        "C142XYZ",
        "user_name",
        "a_b_c_d",
    ]


def test_numbers_are_read_in_json_form() -> None:
    assert arguments_text('{"a": 1250000, "b": true, "c": null, "d": 1.5}').split("\n") == [
        "a",
        "1250000",
        "b",
        "true",
        "c",
        "d",
        "1.5",
    ]


def test_arguments_that_do_not_parse_are_matched_raw() -> None:
    assert call_text("run", '{"id": "C142XYZ') == 'run\n{"id": "C142XYZ'


def test_recall_names_permit_titlecase_and_have_no_periods() -> None:
    assert list(find_names("Kathryn abc.def_g foobar foo_bar")) == ["Kathryn", "foo_bar"]
