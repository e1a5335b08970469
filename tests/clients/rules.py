"""What has to hold for what the model got, whatever the program."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from contextrender.events import OUTSIDE_ROLES
from contextrender.legality import violations
from contextrender.proxy.splice import without_marks
from contextrender.proxy.transcript import TRANSIENT
from contextrender.tokens import call_tokens, event_tokens
from contextrender.transcripts.wire import wire_format
from tests.clients.harness import Turn
from tests.clients.model import Request
from tests.clients.work import RECORDS, marks

SESSION_HEADER = "x-contextrender-session"
"""The header of an answer that names the session."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The records shown in each turn: by the program, and to the model."""

    sent: list[set[int]]
    got: list[set[int]]

    @property
    def omitted(self) -> set[int]:
        """Records that the model was not shown in some turn although the program sent them."""
        return set().union(*(sent - got for sent, got in zip(self.sent, self.got, strict=True)))

    @property
    def restored(self) -> set[int]:
        """Records shown again after a turn without them."""
        back: set[int] = set()
        missed: set[int] = set()
        for sent, got in zip(self.sent, self.got, strict=True):
            back |= missed & got
            missed |= sent - got
        return back


def records_seen(turns: Sequence[Turn]) -> Seen:
    """Which records each turn showed."""
    return Seen([_marks(turn.sent) for turn in turns], [_marks(turn.got) for turn in turns])


def records_read(turns: Sequence[Turn]) -> Seen:
    """As `records_seen` for a program with an adapter: what it would have sent are the records read so far."""
    sent = [set(range(1, min(number, RECORDS) + 1)) for number in range(len(turns))]
    return Seen(sent, [_marks(turn.got) for turn in turns])


def assert_within(turns: Sequence[Turn], budget: int) -> None:
    """Each request that the model got is legal and within the budget."""
    assert turns
    for number, turn in enumerate(turns):
        where = f"turn {number + 1} of {len(turns)}"
        form = wire_format(turn.got.wire)
        assert form.breaches(form.history_of(turn.got.body)) == [], where
        assert history_tokens(turn.got) <= budget, where


def history_tokens(request: Request) -> int:
    """Tokens that the budget counts: all but system messages and a user message that is last."""
    events = list(wire_format(request.wire).parse_request(request.body))
    if events and events[-1].role == "user":
        events.pop()
    return sum(
        event_tokens(event) + sum(call_tokens(call.name, call.arguments) for call in event.calls)
        for event in events
        if event.role not in OUTSIDE_ROLES
    )


def assert_kept_to_the_rules(turns: Sequence[Turn], budget: int, beyond: int = 0) -> None:
    """Each request that the model got is legal, within the budget, and its own bytes where nothing was left out.

    beyond: tokens that the pinned messages of this program alone may take over the budget.
    """
    assert turns
    for number, turn in enumerate(turns):
        where = f"turn {number + 1} of {len(turns)}"
        form = wire_format(turn.got.wire)
        sent, got = form.history_of(turn.sent.body), form.history_of(turn.got.body)
        assert form.breaches(got) == [], where
        assert violations(sent, got, wire=form.name) == [], where
        assert history_tokens(turn.got) <= budget + beyond, where
        if history_tokens(turn.sent) <= budget:
            assert turn.got.raw == turn.sent.raw, f"{where}: bytes changed although all of it fits"
        same = {name: value for name, value in turn.sent.body.items() if name not in ("messages", "input")}
        assert {name: turn.got.body.get(name) for name in same} == same, f"{where}: more than the history changed"


def new_prefixes(turns: Sequence[Turn]) -> int:
    """How often the model got a history that does not begin with the whole of the one before: a cold cache.

    Cache marks move on with each request and are not cached; OpenClaw's passing message is new each time.
    """
    written = ([json.dumps(without_marks(message), sort_keys=True) for message in turn.got.history] for turn in turns)
    histories = [[message for message in history if TRANSIENT not in message] for history in written]
    return sum(later[: len(earlier)] != earlier for earlier, later in pairwise(histories))


def _marks(request: Request) -> set[int]:
    return marks(json.dumps(request.history))


def assert_one_session(turns: Sequence[Turn]) -> None:
    """The proxy took all of these turns for one session, and says which."""
    sessions = {turn.answer.get(SESSION_HEADER, "") for turn in turns}
    assert len(sessions) == 1, sessions
    assert sessions != {""}
