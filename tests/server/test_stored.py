"""A session rebuilt from its persisted nodes is the session that ingested the messages."""

import gc
import weakref
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from contextrender.graph.archetypes import Session as SessionNode
from contextrender.server.records import options_record
from contextrender.server.stored import StoredSession
from tests.core.conversations import Message, histories
from tests.proxy.provider import chat_run

ENTRY = ("position", "role", "turn", "tokens", "text", "fingerprint", "ref", "number")
POLICIES = ["default", "default@every_call", "paper"]


def opened(policy: str) -> StoredSession:
    return StoredSession(SessionNode(sid="s", options=options_record(policy, 200, "hash", None, "chat", None)))


def nodes_of(session: StoredSession) -> list[Any]:
    found: dict[int, Any] = {}
    for branch in session.branches:
        for entry in branch.entries:
            for node in (entry.node, *(call.node for call in entry.calls)):
                found[id(node)] = node
    return [*found.values(), *session.history.value_nodes.values(), *session._nodes.values()]


def copy_of(node: Any) -> Any:
    kept = ("sid", "ver", "minted", "options", "forks", "head", "renders")
    return SessionNode(**{name: getattr(node, name) for name in kept})


def state(session: StoredSession) -> list[Any]:
    return [
        [
            (
                [[getattr(entry, name) for name in ENTRY] for entry in branch.entries],
                [[(c.tool, c.arguments, c.tokens, c.result) for c in e.calls] for e in branch.entries],
                branch.reuse.scores,
                branch.reuse.source,
                branch.reuse.holders,
                branch.reuse.uses,
                branch.last_use,
                [column.tolist() for column in branch.units],
                branch.turn,
                branch.tokens,
                branch.names.owner,
                branch.names.used,
                [branch.names.column(name).tolist() for name in ("turn", "last", "uses", "new", "reshown")],
            )
            for branch in session.branches
        ],
        session.branches.index(session.history),
        sorted(session.history.value_nodes),
        session.node.minted,
    ]


@given(histories(), histories(), histories(), st.integers(0, 10), st.sampled_from(POLICIES))
@settings(max_examples=20, deadline=None)
def test_rebuilding_gives_the_incremental_state_and_the_same_next_render(
    one: list[Message], two: list[Message], three: list[Message], at: int, policy: str
) -> None:
    made = opened(policy)
    for messages in (one, one[:at] + two, one):
        made.ingest(messages, whole=True)
        made.render()
    made.save()
    again = StoredSession(copy_of(made.node))
    again.absorb(nodes_of(made))
    assert state(again) == state(made)
    assert again.digest() == made.digest()
    assert list(again._snapshots) == list(made._snapshots)
    for name in made._snapshots:
        assert again.explain(name) == made.explain(name)
    known = made.begun()
    assert again.follow(known, three) == made.follow(known, three)
    assert again.render() == made.render()


@given(histories(pending=False), st.data())
@settings(max_examples=20, deadline=None)
def test_what_another_process_added_is_taken_in_piece_by_piece(messages: list[Message], data: st.DataObject) -> None:
    made = opened("default")
    made.save()
    other = StoredSession(made.node)  # the same node: what a catch-up reads of the session itself
    seen: set[int] = set()
    at = 0
    while at < len(messages):
        at = data.draw(st.integers(at + 1, len(messages)))
        made.ingest(messages[:at], whole=True)
        made.render()
        made.save()
        fresh = [node for node in nodes_of(made) if id(node) not in seen]
        seen.update(map(id, fresh))
        other.absorb(fresh)
        assert state(other) == state(made)
        assert other._last_plan(other.history) == other._snapshots[list(other._snapshots)[-1]].plan


def test_a_dropped_session_frees_its_memory() -> None:
    """At once, and not when the garbage collector comes by, which is late for what has lived long."""
    session = opened("default")
    for messages in (chat_run(8), [*chat_run(4), {"role": "user", "content": "otherwise"}]):
        session.ingest(messages, whole=True)
        session.render()
    gc.collect()  # the walkers of this test
    gc.disable()
    try:
        held = [weakref.ref(node) for node in nodes_of(session)]
        session.release()
        assert [ref() for ref in held if ref() is not None] == []
    finally:
        gc.enable()
