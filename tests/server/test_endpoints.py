"""What the endpoints answer: what `Session` would, to their owner only, and a clear 4xx to anything else."""

import json
import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrender import Session
from contextrender.client import Client, RemoteSession
from contextrender.errors import DivergedError, InputError, NotFoundError
from tests.core.conversations import Message, histories
from tests.proxy.provider import Running, chat_run
from tests.server.running import client

USAGE = {"uncached": 100, "cached": 900, "written": 0, "output": 7}


def raw(server: Running, client: Client, walker: str, body: Any) -> httpx.Response:
    """What a walker answers to these bytes or values."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"authorization": client._http.headers["authorization"], "content-type": "application/json"}
    return httpx.post(f"http://127.0.0.1:{server.port}/walker/{walker}", content=content, headers=headers)


@settings(max_examples=25, deadline=None)
@given(
    one=histories(),
    two=histories(),
    at=st.integers(0, 8),
    budget=st.integers(60, 900),
    policy=st.sampled_from(["default", "default@every_call", "paper"]),
)
def test_a_render_over_http_equals_the_one_in_process(
    server: Running, data: Path, one: list[Message], two: list[Message], at: int, budget: int, policy: str
) -> None:
    with client(server, data) as mine:
        remote = mine.open_session(policy=policy, budget=budget)
        local = Session(policy, budget, "hash")
        for messages in (one[:at], one, one[:at] + two, one):
            local.ingest(messages, whole=True)
            want, got = local.render(), remote.sync(messages)
            assert json.dumps(got.messages) == json.dumps(want.messages)
            for name in ("tokens", "kept", "omitted", "over_budget", "snapshot_id"):
                assert getattr(got, name) == getattr(want, name), name
            assert remote.explain(got.snapshot_id) == local.explain(want.snapshot_id)
        assert remote.render().messages == local.render().messages


def test_the_same_messages_again_change_nothing(mine: Client) -> None:
    remote = mine.open_session(budget=2_000)
    run = chat_run(6)
    assert remote.ingest(run) == run
    before = remote.graph(limit=500)
    assert remote.ingest(run) == []
    after = remote.graph(limit=500)
    assert after["edges"] == before["edges"]
    assert [node for node in after["nodes"] if node["kind"] != "Session"] == [
        node for node in before["nodes"] if node["kind"] != "Session"
    ]


def test_a_retry_whose_answer_was_lost_gives_the_same(mine: Client) -> None:
    remote = mine.open_session(budget=2_000)
    run = chat_run(8)
    first = remote.sync(run[:8])
    assert remote._tail.known
    lost = {"messages": run[8:], "known": remote._tail.known}
    got = [mine.call("sync", session=remote.id, **lost) for _ in range(2)]
    assert got[0]["messages"] == got[1]["messages"]
    assert got[0]["known"] == got[1]["known"]
    assert first.tokens <= 2_000


def test_a_sync_carries_only_what_is_new(mine: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    remote, run = mine.open_session(budget=2_000), chat_run(6)
    sent: list[dict[str, Any]] = []
    plain = mine.call

    def noting(walker: str, **fields: Any) -> Any:
        sent.append(fields)
        return plain(walker, **fields)

    monkeypatch.setattr(mine, "call", noting)
    remote.sync(run[:6])
    remote.sync(run)
    run[3] = {**run[3], "content": "edited"}
    remote.sync(run)
    assert [len(fields["messages"]) for fields in sent] == [6, len(run) - 6, len(run)]
    mine.call("delete_session", session=remote.id)
    with pytest.raises(NotFoundError):
        remote.sync(run)


def test_a_branch_that_begins_otherwise_asks_for_the_whole(mine: Client) -> None:
    remote = mine.open_session()
    with pytest.raises(DivergedError):
        mine.call("sync", session=remote.id, messages=[], known={"events": 3, "digest": "other"})


BAD: list[tuple[str, Any, int, str]] = [
    ("open_session", {"policy": "nonsense"}, 422, "policy"),
    ("open_session", {"policy": {"nonsense": 1}}, 422, "policy"),
    ("open_session", {"budget": 0}, 422, "budget"),
    ("open_session", {"budget": "much"}, 422, "budget"),
    ("open_session", {"embedder": "nonsense"}, 422, "embedder"),
    ("open_session", {"wire": "nonsense"}, 422, "wire"),
    ("open_session", {"days": 0}, 422, "days"),
    ("open_session", {"key": "k" * 600}, 422, "key"),
    ("open_session", {"key": 3}, 422, "key"),
    ("open_session", {"nonsense": 1}, 422, "nonsense"),
    ("open_session", b"{", 400, "body"),
    ("open_session", b"[" * 100_000, 400, ""),
    ("open_session", b"", 422, "body"),
    ("render", {}, 422, "session"),
    ("render", {"session": "SID", "budget": "6000"}, 422, "budget"),
    ("render", {"session": "SID", "budget": 0}, 422, "budget"),
    ("render", {"session": "nonsense"}, 404, ""),
    ("render", {"session": "0" * 24}, 404, ""),
    ("ingest", {"session": "SID"}, 422, "messages"),
    ("ingest", {"session": "SID", "messages": "text"}, 422, "messages"),
    ("ingest", {"session": "SID", "messages": ["text"]}, 422, "messages.0"),
    ("ingest", {"session": "SID", "messages": [{"role": "nobody"}]}, 422, "messages[0].role"),
    ("sync", {"session": "SID", "messages": [], "known": {"events": 1}}, 422, "known.digest"),
    ("sync", {"session": "SID", "messages": [], "known": {"events": -1, "digest": ""}}, 422, "known.events"),
    ("sync", {"session": "SID", "messages": [], "known": {"events": 1, "digest": "x"}}, 409, ""),
    ("note", {"session": "SID", "kind": "nonsense", "text": "x"}, 422, "note.kind"),
    ("note", {"session": "SID", "kind": "error", "text": "x", "fields": {"kind": "y"}}, 422, "fields"),
    ("explain", {"session": "SID", "snapshot": "s99"}, 404, ""),
    ("recall", {"session": "SID", "ref": "r99"}, 404, ""),
    ("record_usage", {"session": "SID", "snapshot": "s99", "usage": USAGE}, 404, ""),
    ("record_usage", {"session": "SID", "snapshot": "s1", "usage": {**USAGE, "cached": -1}}, 422, "usage"),
    ("sessions", {"limit": 0}, 422, "limit"),
    ("sessions", {"limit": 501}, 422, "limit"),
    ("graph", {"session": "SID", "after": "nonsense"}, 404, ""),
    ("costs", {"session": "SID", "prices": "nonsense"}, 422, "prices"),
    ("import_session", {"text": "nonsense"}, 422, "text"),
    ("import_session", {"text": '{"contextrender": 99}'}, 422, "text"),
    ("nonsense", {}, 404, ""),
]


@pytest.mark.parametrize(("walker", "body", "status", "where"), BAD)
def test_bad_input_is_told_what_was_wrong_and_where(
    server: Running, mine: Client, walker: str, body: Any, status: int, where: str
) -> None:
    sid = mine.open_session(key="bad input").id
    if not isinstance(body, bytes):
        body = json.loads(json.dumps(body).replace("SID", sid))
    response = raw(server, mine, walker, body)
    assert response.status_code == status, response.text
    told = response.json()["error"]
    assert told["where"] == where
    assert told["message"]
    assert told["request_id"] == response.headers["x-request-id"]
    assert "Traceback" not in response.text


def test_any_text_that_json_can_hold_comes_back(mine: Client) -> None:
    remote = mine.open_session(budget=1_000)
    odd = ["\ud800 alone", "\x00", "\x00json:1", "é😀", "x" * 10]
    extra = {"\ud83d": 2**70, "deep": [None, 1.5]}
    run: list[Message] = [{"role": "user", "content": text, "extra": extra} for text in odd]
    assert remote.sync(run).messages == run
    assert mine.open_session(key="\x00 any\nkey").id == mine.open_session(key="\x00 any\nkey").id


OF_A_SESSION: list[tuple[str, dict[str, Any]]] = [
    ("ingest", {"messages": [{"role": "user", "content": "mine now"}]}),
    ("render", {}),
    ("sync", {"messages": [{"role": "user", "content": "mine now"}]}),
    ("extend", {"messages": [], "known": {"events": 0, "digest": ""}}),
    ("note", {"kind": "error", "text": "x"}),
    ("explain", {"snapshot": "s1"}),
    ("recall", {"ref": "r1"}),
    ("record_usage", {"snapshot": "s1", "usage": USAGE}),
    ("graph", {}),
    ("costs", {}),
    ("export_session", {}),
    ("delete_session", {}),
]


@pytest.mark.parametrize(("walker", "fields"), OF_A_SESSION)
def test_a_strangers_session_is_as_unknown_as_one_that_never_was(
    mine: Client, stranger: Client, walker: str, fields: dict[str, Any]
) -> None:
    remote = mine.open_session(key="private", budget=500)
    remote.sync(chat_run(3))
    before = remote.export()
    told = []
    for sid in (remote.id, "0" * 24):
        with pytest.raises(NotFoundError) as caught:
            stranger.call(walker, session=sid, **fields)
        told.append(str(caught.value).replace(sid, ""))
    assert told[0] == told[1]
    assert remote.export() == before


def test_a_stranger_lists_and_names_sessions_of_their_own(mine: Client, stranger: Client) -> None:
    ours, theirs = mine.open_session(key="shared name"), stranger.open_session(key="shared name")
    assert ours.id != theirs.id
    assert ours.id not in {row["session"] for row in stranger.sessions(limit=500)["sessions"]}


def test_sessions_are_listed_in_pages(stranger: Client) -> None:
    made = [stranger.open_session().id for _ in range(7)]
    seen, after = [], -1
    while after is not None:
        page = stranger.sessions(after, 3)
        seen += [row["session"] for row in page["sessions"]]
        after = page["next"]
    assert seen[-7:] == made


def test_a_graph_is_read_in_pages_and_every_edge_has_both_ends(mine: Client) -> None:
    remote = mine.open_session(budget=500)
    remote.sync(chat_run(12))
    nodes: dict[str, Any] = {}
    edges: list[dict[str, Any]] = []
    after = ""
    while after is not None:
        page = remote.graph(after, 7)
        assert len(page["nodes"]) <= 7
        nodes |= {node["id"]: node for node in page["nodes"]}
        edges += page["edges"]
        after = page["next"]
    kinds = {node["kind"] for node in nodes.values()}
    assert {"Session", "Message", "ToolCall", "ToolResult", "Snapshot"} <= kinds
    assert all(edge["source"] in nodes and edge["target"] in nodes for edge in edges)
    assert len({edge["id"] for edge in edges}) == len(edges)


def test_an_exported_session_goes_on_where_it_was(mine: Client, stranger: Client) -> None:
    remote = mine.open_session(budget=1_500)
    run = chat_run(8)
    remote.sync(run[:10])
    remote.note("constraint", "Refund nothing above 100.")
    copy = stranger.import_session(remote.export())
    assert copy.export() == remote.export()
    assert copy.sync(run).tokens <= 1_500


def test_costs_are_those_the_provider_counted(mine: Client) -> None:
    remote = mine.open_session(budget=500)
    snapshot = remote.sync(chat_run(8)).snapshot_id
    remote.record_usage(snapshot, USAGE, "gpt-5")
    bill = remote.costs()
    assert (bill["calls"], bill["counted"], bill["usage"]) == (1, 1, USAGE)
    assert bill["full_input"] > 1_000
    assert bill["cost"] < bill["full_cost"]
    explained = remote.explain(snapshot)
    assert explained.usage
    assert explained.usage.cached == 900


def test_deletion_deletes_what_was_said_and_all_that_came_of_it(server: Running, mine: Client, data: Path) -> None:
    secret = f"SECRET_{uuid.uuid4().hex}"
    remote: RemoteSession = mine.open_session(budget=400, key=secret)
    run = chat_run(6, key=secret)
    remote.sync(run)
    remote.note("constraint", f"never say {secret}")
    assert any(secret.encode() in path.read_bytes() for path in data.iterdir())
    remote.delete()
    with pytest.raises(NotFoundError):
        remote.render()
    assert [path.name for path in data.iterdir() if secret.encode() in path.read_bytes()] == []


def test_input_errors_are_those_of_the_session(mine: Client) -> None:
    with pytest.raises(InputError) as caught:
        mine.open_session(budget=0)
    assert (caught.value.where, "whole number" in caught.value.accepted) == ("budget", True)
