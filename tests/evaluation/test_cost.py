"""Eq. 3 and the prefix cache, on numbers worked out by hand."""

import pytest

from contextrender.evaluation.cost import Usage, cached_tokens
from contextrender.history import Piece, Shown


def shown(*pieces: tuple[int, int]) -> list[Shown]:
    return [Shown(Piece(position), tokens) for position, tokens in pieces]


def test_equation_3_with_a_fixed_rate() -> None:
    usage = Usage(prompt=1000, cached=0, output=100)
    assert usage.usd_fixed_rate(0.6) == pytest.approx(((2 * 0.4 + 0.5 * 0.6) * 1000 + 8 * 100) / 1e6)


def test_embedding_tokens_cost_13_cents_a_million() -> None:
    assert Usage(embedding=1_000_000).usd_fixed_rate(0.5) == pytest.approx(0.13)
    assert Usage(embedding=1_000_000).usd_real_cache() == pytest.approx(0.13)


def test_real_cost_prices_each_cached_token_at_a_quarter() -> None:
    assert Usage(1000, 600, 100).usd_real_cache() == pytest.approx((2 * 400 + 0.5 * 600 + 800) / 1e6)


def test_at_its_own_cache_rate_both_costs_agree() -> None:
    usage = Usage(1000, 600, 100)
    assert usage.usd_fixed_rate(usage.cache_rate) == pytest.approx(usage.usd_real_cache())


def test_the_cache_is_the_common_prefix_in_whole_messages() -> None:
    before = shown((0, 10), (1, 20), (2, 30))
    assert cached_tokens(before, shown((0, 10), (1, 20), (3, 5), (2, 30))) == 30
    assert cached_tokens(before, shown((1, 20), (2, 30))) == 0


def test_a_message_that_lost_a_call_or_its_prose_is_another_message() -> None:
    before = [Shown(Piece(0, (0, 1)), 10)]
    assert cached_tokens(before, [Shown(Piece(0, (0,)), 8)]) == 0
    assert cached_tokens(before, [Shown(Piece(0, (0, 1), False), 8)]) == 0
