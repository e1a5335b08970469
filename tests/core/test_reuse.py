"""Observed reuse, Eq. 1 and App. A.2 attribution and counting."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextrender.reuse import ReuseTracker


def test_a_use_is_credited_to_the_first_result_that_holds_the_value() -> None:
    tracker = ReuseTracker()
    tracker.add_result(["C142XYZ"])
    tracker.add_result(["C142XYZ"])
    assert tracker.add_operation(["C142XYZ"]) == [("C142XYZ", 0)]
    assert tracker.scores == [0.5, 0.0]


def test_intermediate_copies_in_operations_do_not_change_the_source() -> None:
    tracker = ReuseTracker()
    tracker.add_result(["C142XYZ"])
    for _ in range(2):
        assert tracker.add_operation(["C142XYZ"]) == [("C142XYZ", 0)]
    assert tracker.scores == [2.0]


def test_a_value_first_said_by_an_operation_is_credited_to_the_result_that_echoes_it() -> None:
    tracker = ReuseTracker()
    assert tracker.add_operation(["C142XYZ"]) == []
    tracker.add_result(["C142XYZ"])
    assert tracker.add_operation(["C142XYZ"]) == [("C142XYZ", 0)]


def test_a_later_result_that_holds_the_value_lowers_the_weight_of_uses_already_made() -> None:
    tracker = ReuseTracker()
    tracker.add_result(["C142XYZ"])
    tracker.add_operation(["C142XYZ"])
    tracker.add_result(["C142XYZ"])
    tracker.add_result(["C142XYZ"])
    assert tracker.scores[0] == pytest.approx(1 / 3)


def test_different_values_in_one_operation_are_separate_matches() -> None:
    tracker = ReuseTracker()
    tracker.add_result(["ab_123", "cd_456"])
    tracker.add_operation(["ab_123", "cd_456"])
    assert tracker.scores == [2.0]


VALUES = [f"value_{i}" for i in range(6)]
EVENTS = st.lists(st.tuples(st.booleans(), st.sets(st.sampled_from(VALUES))), max_size=30)


@given(EVENTS)
def test_incremental_scores_equal_equation_1_computed_afresh(events: list[tuple[bool, set[str]]]) -> None:
    tracker = ReuseTracker()
    results: list[set[str]] = []
    matches: list[tuple[str, int]] = []
    for is_result, values in events:
        ordered = sorted(values)
        random.Random(len(results)).shuffle(ordered)
        if is_result:
            tracker.add_result(ordered)
            results.append(values)
        else:
            tracker.add_operation(ordered)
            for value in values:
                first = next((r for r, held in enumerate(results) if value in held), None)
                if first is not None:
                    matches.append((value, first))
        expected = [
            math.fsum(1 / sum(value in held for held in results) for value, source in matches if source == r)
            for r in range(len(results))
        ]
        assert tracker.scores == pytest.approx(expected, abs=1e-12)
