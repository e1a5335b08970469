"""Bills: what is due, to whom, and paying it."""

from contextrender.world.apps.wallet import cents, dollars, pay
from contextrender.world.registry import Json, ToolError, tool
from contextrender.world.state import Bill, State


@tool(
    "bills",
    args={
        "status": "open or paid; empty for all.",
        "kind": "Kind of bill, such as utility, subscription, rent, shared_dinner; empty for all.",
        "due_before": "Only bills due before this day, YYYY-MM-DD; empty for all.",
    },
    returns={"total": "How many bills match.", "bills": "The bills in overview, by due date; open one for its lines."},
)
def list_bills(state: State, status: str = "", kind: str = "", due_before: str = "") -> Json:
    """Lists the user's bills in overview by due date: payee, kind, total, due date, status, autopay."""
    found = [
        _overview(bill)
        for bill in sorted(state.bills, key=lambda item: (item.due, item.bill_id))
        if status in ("", bill.status) and kind in ("", bill.kind) and (not due_before or bill.due < due_before)
    ]
    return {"filters": {"status": status, "kind": kind, "due_before": due_before}, "total": len(found), "bills": found}


@tool("bills", args={"bill_id": "Id of the bill."}, returns={"bill": "The bill in full."}, errors=("unknown_id",))
def show_bill(state: State, bill_id: str) -> Json:
    """Shows one bill in full: its lines, the payment reference, and what anybody has paid towards it."""
    bill = _bill(state, bill_id)
    lines = [
        {
            "position": number,
            "text": line.text,
            "quantity": line.quantity,
            "amount": dollars(line.cents),
            "tax_class": "A",
        }
        for number, line in enumerate(bill.lines, 1)
    ]
    shares = [{"name": advance.name, "amount": dollars(advance.cents), "method": "card"} for advance in bill.paid_by]
    terms = (
        "Payable without deduction by the due date. Please quote the payment reference; a payment without it cannot be "
        "assigned and is returned after 14 days. Late payments are charged a fee of 1.5 percent a month."
    )
    detail = {"reference": bill.reference, "lines": lines, "paid_by": shares, "terms": terms}
    return {"bill": {**_overview(bill), **detail}}


@tool(
    "bills",
    args={"bill_id": "Id of the bill.", "amount": "Dollars; the total.", "reference": "Payment reference of the bill."},
    returns={"transaction_id": "Id of the payment.", "balance": "The wallet balance after it."},
    errors=("unknown_id", "already_done", "wrong_reference", "insufficient_balance"),
)
def pay_bill(state: State, bill_id: str, amount: float, reference: str) -> Json:
    """Pays an open bill in full from the wallet balance; the payment reference printed on the bill is needed."""
    bill = _bill(state, bill_id)
    if bill.status != "open":
        raise ToolError("already_done", f"the bill {bill_id!r} is {bill.status}")
    if reference != bill.reference:
        raise ToolError("wrong_reference", f"{reference!r} is not the payment reference of the bill {bill_id!r}")
    if cents(amount) != bill.total_cents:
        raise ToolError("malformed_argument", f"the amount must be the bill's total, not {amount:.2f}")
    paid = pay(state, bill.payee, bill.payee_email, bill.total_cents, "bill", reference)
    bill.status = "paid"
    balance = dollars(state.profile.balance_cents)
    return {"message": "Bill paid.", "bill_id": bill_id, "transaction_id": paid.transaction_id, "balance": balance}


@tool(
    "bills",
    args={"bill_id": "Id of the bill.", "enabled": "Whether it is to be paid automatically."},
    returns={"autopay": "The new setting."},
    errors=("unknown_id", "already_done"),
)
def set_autopay(state: State, bill_id: str, enabled: bool) -> Json:
    """Turns the automatic payment of a bill on or off; a subscription ends when it is turned off."""
    bill = _bill(state, bill_id)
    if bill.autopay == enabled:
        raise ToolError("already_done", f"autopay of the bill {bill_id!r} is already {enabled}")
    bill.autopay = enabled
    return {"message": "Autopay changed.", "bill_id": bill_id, "autopay": enabled, "changed_at": state.tick()}


def _bill(state: State, bill_id: str) -> Bill:
    for bill in state.bills:
        if bill.bill_id == bill_id:
            return bill
    raise ToolError("unknown_id", f"no bill has the id {bill_id!r}")


def _overview(bill: Bill) -> Json:
    return {
        "bill_id": bill.bill_id,
        "payee": bill.payee,
        "payee_email": bill.payee_email,
        "kind": bill.kind,
        "total": dollars(bill.total_cents),
        "currency": "USD",
        "due": bill.due,
        "status": bill.status,
        "autopay": bill.autopay,
    }
