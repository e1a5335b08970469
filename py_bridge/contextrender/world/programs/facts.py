"""How programs read facts from what is visible, and the acts that many of them share.

Each reader returns the fact from the visible text or raises Missing with the call that would show it again.
"""

import re
from collections.abc import Callable

from contextrender.world.agent import Act, Turn
from contextrender.world.view import Call, Json, Missing, View


def do(text: str, tool: str, **arguments: object) -> Act:
    """An act that always says and calls the same."""
    return lambda view: Turn(text, (Call(tool, arguments),))


def finish(text: str | Callable[[View], str]) -> Act:
    """The last act: an answer without calls."""
    return lambda view: Turn(text if isinstance(text, str) else text(view))


def asked(view: View, pattern: str) -> tuple[str, ...]:
    """The groups of a pattern in the task's own words (or in what a context manager has kept of them)."""
    for text in view.texts:
        found = re.search(pattern, text)
        if found:
            return found.groups()
    raise Missing("the wording of the task", Call("list_files", {"folder": "/notes"}))


def contact(view: View, name: str) -> Json:
    """The contact card of a person."""
    return view.need(Call("search_contacts", {"query": name}), ("email", "phone", "birthday"), name=name)


def content(view: View, path: str) -> str:
    """The text of a file."""
    return str(view.need(Call("read_file", {"path": path}), ("content",), path=path)["content"])


def bills(view: View, **filters: str) -> list[Json]:
    """The bills in overview, as listed with these filters."""
    complete = {"status": "", "kind": "", "due_before": "", **filters}
    found: list[Json] = view.need(Call("list_bills", {**filters}), ("bills",), filters=complete)["bills"]
    return found


def bill(view: View, bill_id: str) -> Json:
    """One bill in full."""
    return view.need(Call("show_bill", {"bill_id": bill_id}), ("reference", "lines"), bill_id=bill_id)


def transactions(view: View, page: int, **filters: str) -> list[Json]:
    """One page of transactions, as listed with these filters."""
    complete = {"direction": "", "query": "", "since": "", **filters}
    call = Call("show_transactions", {"page": page, **filters})
    found: list[Json] = view.need(call, ("transactions",), filters=complete, page=page)["transactions"]
    return found


def result(view: View, label: str, expression: Callable[[], str]) -> float:
    """What the calculator said under a label; `expression` is only asked for where it has to be computed again."""
    record = view.find(("result",), label=label)
    if record is None:
        raise Missing(f"the result for {label}", Call("calculator", {"expression": expression(), "label": label}))
    return float(record["result"])


def request_to(view: View, email: str, status: str = "pending") -> Json:
    """The newest payment request to an address."""
    call = Call("list_payment_requests", {"status": status})
    return view.need(call, ("request_id",), receiver_email=email, status=status)


def payment_to(view: View, email: str, name: str) -> Json:
    """The newest transaction with an address."""
    call = Call("show_transactions", {"query": name})
    return view.need(call, ("transaction_id", "amount"), counterparty_email=email)


def with_top_up(act: Act) -> list[Act]:
    """A payment, and what follows when the balance is too low: funds are added and the payment is made again.

    Whether funds were added is part of the place in the program, so a look-up in between does not lose it.
    """
    added: list[bool] = []

    def top_up(view: View) -> Turn | None:
        if view.last_error() != "insufficient_balance":
            return None
        added.append(True)
        text = "The wallet balance does not cover this payment, so I move 500 dollars over from the bank account."
        return Turn(text, (Call("add_funds", {"amount": 500.0}),))

    def again(view: View) -> Turn | None:
        return act(view) if added else None

    return [act, top_up, again]


def money(amount: float) -> str:
    """An amount as it is written in notes and reports."""
    return f"{amount:.2f}"
