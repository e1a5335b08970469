"""Our policies as selectors: the same plans as the session's, and the embedding tokens they would cost (App. C.2)."""

import pytest

from contextrender.baselines.registry import Settings, check_selector, make_selector, selector_names
from contextrender.errors import InputError
from contextrender.policy import policy_by_name
from contextrender.session import Session
from contextrender.tokens import count_tokens
from tests.core.conversations import Message, step, user

TEXTS = ["alpha_1 " * 40, "beta_2 " * 40, "gamma_3 " * 40]
RUN: list[Message] = [user("find it"), *(m for text in TEXTS for m in step("look", text))]


def session_with(messages: list[Message]) -> Session:
    session = Session("full", 6000, "hash")
    session.ingest(messages, whole=True)
    return session


def test_every_name_makes_a_selector_and_another_is_refused_with_the_list() -> None:
    assert {"full", "prune", "paper", "default"} <= set(selector_names())
    with pytest.raises(InputError, match="prune"):
        check_selector("nope")


def test_a_policy_decides_as_the_session_plans() -> None:
    session = session_with(RUN)
    decided = make_selector("paper", Settings(300)).decide(session, {})
    assert decided.shown == session.plan(policy_by_name("paper"), 300).shown


def test_relevance_is_charged_each_result_and_query_once() -> None:
    selector = make_selector("paper", Settings(300))
    session = session_with(RUN)
    selector.decide(session, {})
    once = sum(map(count_tokens, TEXTS)) + count_tokens("find it")  # the task is the latest interaction, too
    assert selector.spent.embedding == once
    selector.decide(session, {})
    assert selector.spent.embedding == once


def test_nothing_is_embedded_while_the_history_fits_nor_by_prune() -> None:
    session = session_with(RUN)
    for name, budget in (("paper", 6000), ("prune", 300), ("full", 300)):
        selector = make_selector(name, Settings(budget))
        selector.decide(session, {})
        assert selector.spent.embedding == 0
