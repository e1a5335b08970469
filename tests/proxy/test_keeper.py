"""What the proxy sends in place of a request: legal, in the client's own bytes, the right conversation's."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrender.legality import violations
from contextrender.proxy.keeper import Keeper, Prepared
from contextrender.proxy.routes import LISTS
from contextrender.transcripts.format import Reply
from contextrender.transcripts.wire import FORMATS, WireFormat, wire_format
from tests.core.conversations import Message, histories, user
from tests.core.test_cuts import CONVERTED
from tests.proxy.memory import MemorySessions
from tests.proxy.provider import chat_run

WIRES = [form.name for form in FORMATS]
KEY = {"authorization": "Bearer one"}


def keeper(budget: int = 3000, policy: str = "default") -> Keeper:
    return Keeper(MemorySessions(policy, budget, "hash"))


def request(wire: str, messages: list[Any], **fields: Any) -> bytes:
    body = {"model": "m", "tools": [{"name": "look"}], LISTS[wire]: messages, "top_p": 1.0, **fields}
    return json.dumps(body).encode()


def shown(wire: str, prepared: Prepared) -> list[Message]:
    found: list[Message] = json.loads(prepared.content)[LISTS[wire]]
    return found


def complaints(form: WireFormat, messages: list[Message]) -> set[str]:
    """What a provider would refuse, without the place."""
    return {breach.split(": ", 1)[1] for breach in form.breaches(messages)}


def bare(value: Any) -> Any:
    """Without the cache marks that we place."""
    if isinstance(value, list):
        return [bare(item) for item in value]
    if isinstance(value, Mapping):
        return {key: bare(item) for key, item in value.items() if key != "cache_control"}
    return value


@settings(deadline=None, max_examples=60)
@given(
    wire=st.sampled_from(WIRES),
    messages=histories(),
    policy=st.sampled_from(["default", "paper"]),
    budget=st.integers(60, 900),
    heard=st.booleans(),
)
def test_every_request_that_goes_on_is_legal_and_changed_in_its_list_only(
    wire: str, messages: list[Message], policy: str, budget: int, heard: bool
) -> None:
    """At each point where a client would ask: the history so far, the reply heard in between or not."""
    made = keeper(budget, policy)
    form = wire_format(wire)
    for position, message in enumerate([*messages, user("end")]):
        if message["role"] == "tool" or (position == 0 and message["role"] == "assistant"):
            continue
        known = list(CONVERTED[wire](messages[:position]))
        if not known:
            continue
        raw = request(wire, known)
        prepared = made.prepare(wire, raw, {**KEY, "x-contextrender-session": "s"})
        if heard and prepared.ticket and message["role"] == "assistant":
            said = list(CONVERTED[wire]([message]))
            made.record(prepared.ticket, Reply(said, form.parse(said)))
        if prepared.reason:
            assert prepared.content == raw
            continue
        sent = json.loads(prepared.content)
        assert sent.pop(LISTS[wire]) is not None
        assert sent == {name: value for name, value in json.loads(raw).items() if name != LISTS[wire]}
        after = shown(wire, prepared)
        assert complaints(form, after) <= complaints(form, known)
        assert violations(known, bare(after), ["altered results"], wire) == []


@pytest.mark.parametrize("wire", WIRES)
def test_nothing_omitted_means_the_original_bytes(wire: str) -> None:
    made = keeper(100_000)
    for steps in range(1, 6):
        raw = json.dumps({LISTS[wire]: list(CONVERTED[wire](chat_run(steps)))}, indent=2).encode()
        prepared = made.prepare(wire, raw, KEY)
        assert prepared.content is raw
        assert prepared.reason == "whole"


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_kept_goes_in_the_bytes_the_client_wrote(wire: str) -> None:
    """Escapes, key order, number forms and spacing are those of this request; only our own notes are new."""
    made = keeper(policy="paper")
    messages = list(CONVERTED[wire](chat_run(20, words=100)))
    sources = [json.dumps(message, indent=1).replace('"role"', '"r\\u006fle"', 1) for message in messages]
    text = f'{{"model":"m","x":1e2,"{LISTS[wire]}":[{" , ".join(sources)}],  "z":"\\u00e9"}}'
    prepared = made.prepare(wire, text.encode(), KEY)
    assert prepared.reason == ""
    sent = prepared.content.decode()
    assert sent.startswith('{"model":"m","x":1e2,')
    assert sent.endswith('],  "z":"\\u00e9"}')
    kept = [source for source in sources if source in sent]
    assert 3 < len(kept) < len(sources)
    ours = [message for message in shown(wire, prepared) if bare(message) not in messages]
    assert len(ours) <= 2


@pytest.mark.parametrize("wire", WIRES)
def test_sessions_of_two_keys_two_openings_and_two_names_are_apart(wire: str) -> None:
    made = keeper()
    known = list(CONVERTED[wire](chat_run(3)))
    other = list(CONVERTED[wire](chat_run(3, key="other")))

    def session(messages: list[Any], headers: dict[str, str], path: str = "") -> str:
        ticket = made.prepare(wire, request(wire, messages), headers, path).ticket
        assert ticket is not None
        return ticket.sid

    first = session(known, KEY)
    assert first
    assert session(known, KEY) == first
    apart = {
        session(other, KEY),
        session(known, {"authorization": "Bearer two"}),
        session(known, {"x-api-key": "one"}),
        session(known, {**KEY, "x-contextrender-session": "named"}),
        session(known, KEY, "in-the-path"),
    }
    assert len(apart) == 5
    assert first not in apart


def test_edits_and_regenerations_are_branches_and_show_only_their_own() -> None:
    made = keeper(1_500)
    run = chat_run(10)
    made.prepare("chat", request("chat", run), KEY)
    edited = [*run[:8], user("Stop. Look up EDITED_1 only."), *chat_run(8, key="after")[2:]]
    after = shown("chat", made.prepare("chat", request("chat", edited), KEY))
    text = json.dumps(after)
    assert "EDITED_1" in text
    assert not any(f"ORDER_run_{number} " in text for number in range(3, 10))
    again = shown("chat", made.prepare("chat", request("chat", run), KEY))
    assert "EDITED_1" not in json.dumps(again)
    assert violations(run, again, ["altered results"]) == []


def test_a_clients_own_compaction_is_taken_as_the_new_history() -> None:
    """The list begins anew with a summary: nothing of before is put back into it."""
    made = keeper(1_500)
    headers = {**KEY, "x-contextrender-session": "one"}
    made.prepare("chat", request("chat", chat_run(10)), headers)
    compacted = [user("Summary: ten pages read."), *chat_run(9, key="new")[2:]]
    sent = shown("chat", made.prepare("chat", request("chat", compacted), headers))
    assert "ORDER_run_" not in json.dumps(sent)
    assert violations(compacted, sent, ["altered results"]) == []


@pytest.mark.parametrize(
    ("wire", "fields"),
    [
        ("responses", {"previous_response_id": "resp_1"}),
        ("responses", {"conversation": "conv_1"}),
    ],
)
def test_a_history_that_is_elsewhere_is_never_edited(wire: str, fields: dict[str, Any]) -> None:
    raw = request(wire, list(CONVERTED[wire](chat_run(12))), **fields)
    prepared = keeper().prepare(wire, raw, KEY)
    assert (prepared.content, prepared.reason) == (raw, "history elsewhere")


@pytest.mark.parametrize("wire", WIRES)
def test_a_client_that_strips_call_ids_keeps_its_results(wire: str) -> None:
    """The answers were kept with the provider's ids; the client sends them back, and the results, without `_`."""
    made = keeper(1_500)
    form = wire_format(wire)
    run = chat_run(12, words=150)
    stripped = json.loads(json.dumps(run).replace("call_run_", "callrun"))
    ours = 0
    for length in range(2, len(run), 2):
        known = list(CONVERTED[wire](stripped[:length]))
        prepared = made.prepare(wire, request(wire, known), {**KEY, "x-contextrender-session": "s"})
        after = shown(wire, prepared)
        ours += prepared.reason == ""
        assert complaints(form, after) <= complaints(form, known)
        assert violations(known, bare(after), ["altered results"], wire) == []
        said = list(CONVERTED[wire](run[length : length + 1]))
        assert prepared.ticket
        made.record(prepared.ticket, Reply(said, form.parse(said)))
    assert ours


def test_a_growing_list_is_parsed_only_where_it_grew(monkeypatch: pytest.MonkeyPatch) -> None:
    made = keeper()
    form = wire_format("chat")
    read: list[int] = []
    units = type(form).units

    def counted(self: Any, messages: Any, start: int = 0) -> Any:
        read.append(len(messages) - start)
        return units(self, messages, start)

    run = chat_run(40)
    made.prepare("chat", request("chat", run[:40]), KEY)
    monkeypatch.setattr(type(form), "units", counted)
    for length in range(42, len(run) + 1, 2):
        read.clear()
        made.prepare("chat", request("chat", run[:length]), KEY)
        assert min(read) <= 4
