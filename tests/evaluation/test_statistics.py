"""Confidence intervals, the frontier and the chart's labels."""

import random
from itertools import pairwise

import pytest

from contextrender.evaluation.bootstrap import interval, percent, ratio
from contextrender.evaluation.chart import pareto, spaced
from contextrender.evaluation.cost import Tariff, metered


def test_an_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    draw = random.Random(1)
    held = 0
    for _ in range(100):
        rows = [(sum(draw.random() < 0.7 for _ in range(20)), 20) for _ in range(30)]
        found = interval([rows], percent, draws=200)
        assert found is not None
        held += found[0] <= 70 <= found[1]
    assert 85 <= held <= 100


def test_equal_traces_leave_no_doubt_and_none_leave_no_interval() -> None:
    assert interval([[(3, 4)] * 5], ratio) == pytest.approx((0.75, 0.75))
    assert interval([[]], ratio) is None
    assert interval([[(0, 0)] * 3], ratio) is None


def test_sources_weigh_the_same() -> None:
    assert interval([[(1, 1)] * 50, [(0, 1)] * 2], ratio) == pytest.approx((0.5, 0.5))


def test_the_frontier_holds_what_no_other_point_beats() -> None:
    points = [(0.5, 80.0), (0.4, 70.0), (0.6, 79.0), (0.6, 90.0), (0.4, 60.0)]
    assert pareto(points) == [(0.4, 70.0), (0.5, 80.0), (0.6, 90.0)]


def test_labels_stand_apart_and_stay_inside_when_there_is_room() -> None:
    placed = spaced([5.0, 5.1, 9.9, 0.0], 1.0, 0.0, 10.0)
    ordered = sorted(placed)
    assert all(b - a >= 1.0 - 1e-9 for a, b in pairwise(ordered))
    assert ordered[0] >= 0
    assert ordered[-1] <= 10
    assert [placed.index(value) for value in ordered] == [3, 0, 1, 2]


def test_writes_cost_extra_and_short_prefixes_are_not_cached() -> None:
    tariff = Tariff(3.0, 0.3, 15.0, written=3.75, smallest_prefix=1000)
    calls = [(500, 400), (2000, 900), (3000, 2000)]
    usage = metered(calls, 10, tariff)
    assert (usage.prompt, usage.cached, usage.written) == (5500, 2000, 2000 + 1000)
    assert usage.usd_real_cache(tariff) == pytest.approx((3 * 500 + 3.75 * 3000 + 0.3 * 2000 + 15 * 10) / 1e6)
