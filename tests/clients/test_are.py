"""Meta's Agents Research Environments through the proxy: no tools but text, and replies sent back rewritten."""

from pathlib import Path

import pytest

from tests.clients.harness import Bench
from tests.clients.programs import MetaAre
from tests.clients.rules import assert_kept_to_the_rules, assert_one_session

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.more_clients]
step = MetaAre.step
BUDGET = 2_000
STEPS = [
    *(
        step(f"contact {number}", "ContactsApp__add_new_contact", first_name=f"N{number}", last_name=f"Last_{number}")
        for number in range(5)
    ),
    *[step("look", "ContactsApp__get_contacts", offset=0)] * 6,
    step("done", "AgentUserInterface__send_message_to_user", content="All is done."),
]


@pytest.mark.parametrize("path", ["", "/s/my-run"])
def test_a_run_longer_than_the_budget(tmp_path: Path, path: str) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    with Bench(tmp_path, {MetaAre.KEY: STEPS}, BUDGET, text_protocol=True) as bench:
        done = MetaAre(bench, workspace).run(path)
        turns = bench.turns(MetaAre.KEY)
        assert "All is done." in done.err + done.out
        assert len(turns) >= len(STEPS)
        assert_kept_to_the_rules(turns, BUDGET)
        assert_one_session(turns if path else turns[1:])
        assert any(len(turn.got.history) < len(turn.sent.history) for turn in turns)
