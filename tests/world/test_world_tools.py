"""The tools of the app world: typed, documented, and honest about errors."""

import json
from typing import Any

import pytest

from contextrender.errors import InputError
from contextrender.world.build import build_world, people
from contextrender.world.registry import ERRORS
from contextrender.world.state import State, dumps, loads
from contextrender.world.tools import TOOLS, execute, tool_definitions


@pytest.fixture
def state() -> State:
    return build_world(3)


def call(state: State, name: str, **arguments: object) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(execute(state, name, json.dumps(arguments)))
    return result


def bill_of(state: State, kind: str) -> dict[str, Any]:
    bills = call(state, "list_bills", kind=kind)["bills"]
    bill: dict[str, Any] = call(state, "show_bill", bill_id=bills[0]["bill_id"])["bill"]
    return bill


def test_the_snapshot_is_the_same_going_in_and_out(state: State) -> None:
    assert dumps(loads(dumps(state))) == dumps(state)
    assert loads(dumps(state)) == state


@pytest.mark.parametrize("junk", ["", "[]", "{}", '{"profile": 3}', "null"])
def test_a_snapshot_that_is_none_is_refused(junk: str) -> None:
    with pytest.raises(InputError, match="not a snapshot"):
        loads(junk)


def test_the_seed_decides_the_world() -> None:
    assert dumps(build_world(5)) == dumps(build_world(5))
    assert dumps(build_world(5)) != dumps(build_world(6))


def test_every_tool_has_a_valid_schema_and_documentation(state: State) -> None:
    assert len(tool_definitions()) == len(TOOLS) >= 20
    for name, found in TOOLS.items():
        assert found.parameters["type"] == "object"
        assert set(found.parameters["required"]) <= set(found.parameters["properties"])
        assert found.description
        assert all(schema["description"] for schema in found.parameters["properties"].values()), name
        assert set(found.errors) <= set(ERRORS)
        shown = call(state, "show_api_doc", api_name=name)
        assert [item["name"] for item in shown["parameters"]] == list(found.parameters["properties"])


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("no_such_tool", {}, "unknown_tool"),
        ("show_api_doc", {"api_name": "nothing"}, "unknown_tool"),
        ("show_contact", {"contact_id": "con_0"}, "unknown_id"),
        ("show_bill", {"bill_id": "bill_0"}, "unknown_id"),
        ("show_transaction", {"transaction_id": "txn_0"}, "unknown_id"),
        ("remind_payment_request", {"request_id": "request_0"}, "unknown_id"),
        ("delete_event", {"event_id": "event_0"}, "unknown_id"),
        ("read_file", {"path": "/nowhere"}, "not_found"),
        ("list_files", {"folder": "/nowhere"}, "not_found"),
        ("read_file", {"path": "notes/house_rules.md"}, "malformed_argument"),
        ("read_file", {"path": "/notes/../notes/house_rules.md"}, "malformed_argument"),
        ("write_file", {"path": "/notes/house_rules.md", "content": ""}, "already_exists"),
        ("send_payment", {"receiver_email": "nobody@gmail.com", "amount": 5}, "unknown_account"),
        ("send_payment", {"receiver_email": "Nancy", "amount": 5}, "malformed_argument"),
        ("send_payment", {"receiver_email": "nan_ritt@gmail.com", "amount": 0}, "malformed_argument"),
        ("send_payment", {"receiver_email": "nan_ritt@gmail.com", "amount": 0.004}, "malformed_argument"),
        ("send_payment", {"receiver_email": "nan_ritt@gmail.com", "amount": "5"}, "malformed_argument"),
        ("send_payment", {"receiver_email": "nan_ritt@gmail.com", "amount": True}, "malformed_argument"),
        ("send_payment", {"receiver_email": "nan_ritt@gmail.com"}, "malformed_argument"),
        ("send_payment", {"receiver_email": "nan_ritt@gmail.com", "amount": 5, "to": "x"}, "malformed_argument"),
        ("send_payment", {"receiver_email": "nan_ritt@gmail.com", "amount": 99999}, "insufficient_balance"),
        ("create_payment_request", {"receiver_email": "nobody@gmail.com", "amount": 5}, "unknown_account"),
        ("add_funds", {"amount": 999999}, "insufficient_balance"),
        ("send_text", {"phone": "+1-555-0000-000", "text": "hello"}, "unknown_account"),
        ("show_transactions", {"page": 0}, "malformed_argument"),
        ("show_transactions", {"page": 999}, "malformed_argument"),
        ("list_events", {"start": "soon", "end": "2026-03-20"}, "malformed_argument"),
        (
            "create_event",
            {"title": "x", "start": "2026-03-20T10:00:00", "end": "2026-03-20T09:00:00", "attendees": []},
            "malformed_argument",
        ),
        (
            "create_event",
            {"title": "x", "start": "2026-03-20T08:00:00", "end": "2026-03-20T09:00:00", "attendees": ["Nancy"]},
            "malformed_argument",
        ),
        ("calculator", {"expression": "1 / 0"}, "malformed_argument"),
        ("calculator", {"expression": "__import__('os')"}, "malformed_argument"),
        ("calculator", {"expression": "2 **"}, "malformed_argument"),
    ],
)
def test_an_error_is_a_result_and_changes_nothing(
    state: State, name: str, arguments: dict[str, object], code: str
) -> None:
    before = dumps(state)
    result = call(state, name, **arguments)
    assert result["error"]["code"] == code
    assert result["error"]["tool"] == name
    assert dumps(state) == before


@pytest.mark.parametrize("arguments", ["", "{", "[]", "null", '"x"'])
def test_arguments_that_are_no_json_object_are_an_error(state: State, arguments: str) -> None:
    assert json.loads(execute(state, "show_profile", arguments))["error"]["code"] == "malformed_argument"


def test_paying_a_bill_needs_its_reference_its_total_and_the_money(state: State) -> None:
    bill = bill_of(state, "utility")
    right = {"bill_id": bill["bill_id"], "amount": bill["total"], "reference": bill["reference"]}
    assert call(state, "pay_bill", **{**right, "reference": "x"})["error"]["code"] == "wrong_reference"
    assert call(state, "pay_bill", **{**right, "amount": 1})["error"]["code"] == "malformed_argument"
    balance = call(state, "show_profile")["profile"]["balance"]
    state.profile.balance_cents = 100
    assert call(state, "pay_bill", **right)["error"]["code"] == "insufficient_balance"
    state.profile.balance_cents = round(balance * 100)
    paid = call(state, "pay_bill", **right)
    assert paid["balance"] == pytest.approx(balance - bill["total"])
    assert (
        call(state, "show_transaction", transaction_id=paid["transaction_id"])["transaction"]["note"]
        == (bill["reference"])
    )
    assert call(state, "pay_bill", **right)["error"]["code"] == "already_done"


def test_money_sent_and_asked_for_shows_up(state: State) -> None:
    friend = people(state, "friend")[0]
    sent = call(state, "send_payment", receiver_email=friend.email, amount=12.345, note="tea")
    found = call(state, "show_transactions", query="tea")["transactions"]
    assert [(item["transaction_id"], item["amount"]) for item in found] == [(sent["transaction_id"], 12.35)]
    asked = call(state, "create_payment_request", receiver_email=friend.email, amount=3)
    assert call(state, "remind_payment_request", request_id=asked["payment_request_id"])["reminders"] == 1
    pending = call(state, "list_payment_requests", status="pending")["payment_requests"]
    assert (pending[-1]["request_id"], pending[-1]["reminders"]) == (asked["payment_request_id"], 1)


def test_files_events_texts_and_autopay_change_the_state(state: State) -> None:
    friend = people(state, "friend")[0]
    assert call(state, "write_file", path="/a/b.txt", content="hi\n")["characters"] == 3
    assert call(state, "read_file", path="/a/b.txt")["content"] == "hi\n"
    assert call(state, "list_files", folder="/a")["total"] == 1
    made = call(
        state,
        "create_event",
        title="T",
        start="2026-05-01T10:00:00",
        end="2026-05-01T11:00:00",
        attendees=[friend.email],
    )
    assert call(state, "list_events", start="2026-05-01", end="2026-05-01")["events"][0]["event_id"] == made["event_id"]
    assert call(state, "delete_event", event_id=made["event_id"])["cancellations_sent"] == 1
    assert call(state, "list_events", start="2026-05-01", end="2026-05-01")["total"] == 0
    assert call(state, "send_text", phone=friend.phone, text="hello")["status"] == "sent"
    assert call(state, "list_texts")["texts"][0]["text"] == "hello"
    bill = bill_of(state, "subscription")
    assert call(state, "set_autopay", bill_id=bill["bill_id"], enabled=False)["autopay"] is False
    assert call(state, "set_autopay", bill_id=bill["bill_id"], enabled=False)["error"]["code"] == "already_done"


def test_pages_of_transactions_hold_each_transaction_once_newest_first(state: State) -> None:
    pages = call(state, "show_transactions")["total_pages"]
    shown = [
        item for page in range(1, pages + 1) for item in call(state, "show_transactions", page=page)["transactions"]
    ]
    assert sorted(item["transaction_id"] for item in shown) == sorted(t.transaction_id for t in state.transactions)
    assert [item["at"] for item in shown] == sorted((item["at"] for item in shown), reverse=True)


@pytest.mark.parametrize(("expression", "value"), [("260.0 / 4", 65.0), ("-(2 + 3) * 1.5", -7.5), ("0.1 + 0.2", 0.3)])
def test_the_calculator_calculates(state: State, expression: str, value: float) -> None:
    assert call(state, "calculator", expression=expression, label="x")["result"] == value


def test_the_search_of_the_documentation_ranks_and_limits(state: State) -> None:
    found = call(state, "search_api_docs", query="payment request", limit=2)
    assert found["matches"] > 2
    assert {api["api_name"] for api in found["apis"]} <= {
        "create_payment_request",
        "list_payment_requests",
        "remind_payment_request",
    }
    assert call(state, "search_api_docs", query="zebra")["apis"] == []
