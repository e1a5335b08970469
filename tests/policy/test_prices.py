"""Prices of prompt caches: what a provider charges, and what a cache needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextrender.errors import InputError
from contextrender.policy import Policy
from contextrender.prices import DEFAULT_WINDOW, PRESETS, Prices, prices_by_name, prices_of_model, window_of_model

SIZES = st.integers(0, 200_000)


@given(st.sampled_from(sorted(PRESETS)), SIZES, SIZES)
def test_a_cached_prefix_never_makes_an_input_dearer(name: str, cached: int, more: int) -> None:
    prices = PRESETS[name]
    total = cached + more
    assert prices.cost(cached, total) <= prices.cost(0, total)
    assert prices.reread(total) <= prices.cost(0, total)


@given(st.sampled_from(sorted(PRESETS)), SIZES)
def test_a_prefix_below_the_minimum_is_neither_read_nor_written(name: str, total: int) -> None:
    prices = PRESETS[name]
    if total < prices.minimum:
        assert prices.cost(total, total) == total
        assert prices.reread(total) == total


def test_writing_to_anthropics_cache_costs_a_quarter_more() -> None:
    assert PRESETS["anthropic"].cost(0, 10_000) == 12_500
    assert PRESETS["anthropic"].cost(8_000, 10_000) == pytest.approx(800 + 2_500)


def test_prices_and_window_of_a_model_are_known_without_a_network() -> None:
    prices = prices_of_model("gpt-4.1")
    assert prices is not None
    assert prices.cached == pytest.approx(0.25)
    assert prices.minimum == PRESETS["openai"].minimum
    claude = prices_of_model("claude-sonnet-4-20250514")
    assert claude is not None
    assert claude.cached == pytest.approx(0.1)
    assert claude.write == pytest.approx(1.25)
    assert window_of_model("gpt-4.1") > 1_000_000
    assert window_of_model("no-such-model") == window_of_model(None) == DEFAULT_WINDOW


@pytest.mark.parametrize("wrong", [{"cached": 0.0}, {"cached": 2.0}, {"minimum": -1}, {"ttl": 0.0}])
def test_impossible_prices_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match="prices"):
        Prices(**wrong)  # type: ignore[arg-type]


def test_unknown_prices_are_refused_with_the_names() -> None:
    with pytest.raises(InputError, match="anthropic"):
        prices_by_name("nobody")
    with pytest.raises(InputError, match="deepseek"):
        Policy("mine", {"recency": 1.0}, prices="nobody")
