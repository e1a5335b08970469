"""App. A.2, "Relation to the motivating example": Nancy's address is kept at turn 18 because Troy's was used."""

import json
from pathlib import Path

import pytest

from contextrender.policy import policy_by_name
from contextrender.session import Session
from tests.core.conversations import Message, assistant, result, step, user

CONTACTS = (
    '[{"name": "Kathryn", "email": "kathrynmaldonado@gmail.com"}, {"name": "Troy", "email": "tr_solo@gmail.com"}, '
    '{"name": "Nancy", "email": "nan_ritt@gmail.com"}]'
)
RUN = Path(__file__).parents[2] / "examples" / "runs" / "roommates.jsonl"


def test_the_displayed_names_do_not_qualify_and_troys_address_credits_the_whole_contact_result() -> None:
    made = Session(policy="paper", budget=6000, embedder="hash")
    made.ingest(
        [
            user("settle the bill"),
            *step("a", CONTACTS),
            assistant("Kathryn, Troy and Nancy: four ways"),
            assistant(None, ("b", '{"to": "kathrynmaldonado@gmail.com"}')),
            result("b", "ok"),
            assistant(None, ("c", '{"to": "tr_solo@gmail.com"}')),
            result("c", "ok"),
        ]
    )
    assert made.history.reuse.uses == {"gmail.com": 2, "tr_solo": 1}
    assert made.history.reuse.scores[0] == 3.0


@pytest.fixture(scope="module")
def recorded() -> list[Message]:
    messages: list[Message] = json.loads(RUN.read_text().splitlines()[0])["messages"]
    return messages


@pytest.mark.parametrize(("policy", "kept"), [("rec", False), ("rel", False), ("rec+rel", False), ("paper", True)])
def test_at_turn_18_of_the_recorded_run_only_observed_reuse_keeps_nancys_address(
    recorded: list[Message], policy: str, kept: bool
) -> None:
    turns = [position for position, message in enumerate(recorded) if message["role"] == "assistant"]
    before_18 = recorded[: turns[17]]
    contact = next(p for p, m in enumerate(before_18) if m["role"] == "tool" and "nan_ritt" in m["content"])
    made = Session(policy=policy, budget=6000, embedder="wordllama")
    made.ingest(before_18)
    assert (contact in made.plan(policy_by_name(policy), 6000).kept) is kept
