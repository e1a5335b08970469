"""The byte encoding that decides equality and order."""

from datetime import UTC, datetime, timedelta
from typing import Any

import bson
import pytest
from bson import ObjectId
from hypothesis import given
from hypothesis import strategies as st

from contextrender.store.keys import MISSING, encode, encode_folded
from contextrender.store.query import normal

INT64 = st.integers(-(2**63), 2**63 - 1)
NUMBERS = INT64 | st.floats(allow_nan=False) | st.integers(2**53 - 3, 2**53 + 3)
DATES = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))


@given(NUMBERS, NUMBERS)
def test_numbers_sort_by_value_whatever_their_type(a: float, b: float) -> None:
    assert (encode(a) < encode(b)) == (a < b)
    assert (encode(a) == encode(b)) == (a == b)


@given(st.text(), st.text())
def test_strings_sort_by_their_utf8_bytes(a: str, b: str) -> None:
    assert (encode(a) < encode(b)) == (a.encode() < b.encode())
    assert (encode(a) == encode(b)) == (a == b)


@given(st.text(), st.text(), INT64, INT64)
def test_a_compound_key_sorts_by_its_parts(a: str, b: str, m: int, n: int) -> None:
    assert (encode(a) + encode(m) < encode(b) + encode(n)) == ((a.encode(), m) < (b.encode(), n))


@given(DATES, DATES)
def test_dates_sort_by_the_milliseconds_that_are_stored(a: datetime, b: datetime) -> None:
    stored_a, stored_b = normal({"": a})[""], normal({"": b})[""]
    assert (encode(stored_a) < encode(stored_b)) == (stored_a < stored_b)
    assert encode(a) == encode(stored_a)


def test_one_moment_in_two_time_zones_is_one_key() -> None:
    moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert encode(moment) == encode(moment.astimezone(tz=None)) == encode(moment.replace(tzinfo=None))
    assert encode(moment) != encode(moment + timedelta(milliseconds=1))


@pytest.mark.parametrize(
    ("one", "other"), [(True, 1), (0, False), ("1", 1), (None, 0), ("", None), (b"a", "a"), ([], None), ({}, [])]
)
def test_values_of_different_kinds_are_never_equal(one: Any, other: Any) -> None:
    assert encode(one) != encode(other)


def test_a_missing_field_equals_null() -> None:
    assert encode(MISSING) == encode(None)


def test_an_unknown_bson_type_still_has_equality() -> None:
    assert encode(bson.Timestamp(1, 2)) == encode(bson.Timestamp(1, 2)) != encode(bson.Timestamp(1, 3))


def test_the_order_of_kinds_is_mongodbs() -> None:
    kinds: list[Any] = [None, -5, 7.5, "", "a", {"a": 1}, [1], b"x", ObjectId(), False, True, datetime(1980, 1, 1)]
    assert sorted(kinds, key=encode) == kinds


def test_folded_strings_ignore_case_and_keep_accents() -> None:
    assert encode_folded("Bob@Example.COM") == encode_folded("bob@example.com")
    assert encode_folded("e\u0301") == encode_folded("É")
    assert encode_folded("e") != encode_folded("é")
