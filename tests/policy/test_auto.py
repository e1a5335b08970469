"""budget="auto": everything is passed through while that is cheaper, and never more than the window."""

from dataclasses import replace

import pytest

from contextrender import Policy, Session
from contextrender.errors import InputError
from contextrender.policy import POLICIES
from contextrender.prices import PRESETS, Prices
from tests.policy.test_context import opened, step


def long_session(policy: str | Policy, steps: int, words: int = 400) -> Session:
    """A session with that many steps, rendered after each; only the last results are ever useful."""
    session = opened(policy, 2000)
    for number in range(steps):
        session.ingest(step(number, words), whole=False)
        session.render()
    return session


def test_a_short_session_is_passed_through_and_the_trace_says_why() -> None:
    session = long_session("auto", 4)
    explained = session.explain(session.render().snapshot_id)
    assert explained.reason == "whole"


def test_a_session_long_enough_is_managed_and_the_trace_holds_the_sum() -> None:
    session = long_session("auto", 60)
    explained = [session.explain(name) for name in session._snapshots]
    paid = [one for one in explained if one.reason == "checkpoint"]
    assert paid
    for one in paid:
        assert one.why["decision"] == "a checkpoint pays"
        assert one.why["checkpoint_value"] > one.why["append_value"]
    put_off = [one for one in explained if one.why.get("decision") == "a checkpoint does not pay yet"]
    assert all(one.why["checkpoint_value"] <= one.why["append_value"] for one in put_off)
    assert "a checkpoint pays" in str(paid[0])
    assert explained[-1].total_tokens < session.history.tokens


def test_the_window_is_never_passed() -> None:
    session = opened("auto", 1000)
    session.window = 3000
    for number in range(60):
        session.ingest(step(number, 100), whole=False)
        rendered = session.render()
        assert rendered.tokens <= 3000


def test_dear_cached_tokens_are_managed_earlier_than_cheap_ones() -> None:
    def managed(cached: float) -> int:
        prices = Prices("custom", cached, 1.0, 0)
        session = long_session(replace(POLICIES["auto"], prices=prices), 50)
        return [made.plan.layout.reason for made in session._snapshots.values()].count("checkpoint")

    assert managed(0.02) <= managed(0.1) <= managed(0.5)
    assert managed(0.5) > 0


def test_the_models_prices_and_window_are_used_where_they_are_known() -> None:
    session = Session(budget="auto", model="gpt-4.1", embedder="hash")
    assert session.policy.auto
    assert session.policy.prices == "gpt-4.1"
    assert session.window > 1_000_000
    assert Session(budget="auto", embedder="hash").policy.prices == PRESETS["openai"].name


def test_a_policy_that_selects_at_every_call_can_not_be_automatic() -> None:
    with pytest.raises(InputError, match="cache_aware"):
        Session("paper", "auto", "hash")
