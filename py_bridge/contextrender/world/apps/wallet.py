"""A Venmo-like wallet: balance, payments, payment requests, transactions."""

import math
import re
from dataclasses import asdict
from decimal import ROUND_HALF_UP, Decimal

from contextrender.world.registry import Json, ToolError, tool
from contextrender.world.state import PaymentRequest, State, Transaction

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_AMOUNT = "Dollars, more than zero."


@tool("wallet", returns={"profile": "Name, e-mail, phone, balance and linked bank account of the user."})
def show_profile(state: State) -> Json:
    """Shows the user's own wallet profile with the balance and the linked bank account."""
    me = state.profile
    bank = {"account": me.bank_account, "available": dollars(me.bank_cents), "status": "verified"}
    shown = {"name": me.name, "email": me.email, "phone": me.phone, "balance": dollars(me.balance_cents), "bank": bank}
    return {"now": state.now, "profile": {**shown, "currency": "USD", "two_factor": True, "member_since": "2019-08-21"}}


@tool(
    "wallet",
    args={"amount": _AMOUNT},
    returns={"balance": "The new wallet balance."},
    errors=("insufficient_balance",),
)
def add_funds(state: State, amount: float) -> Json:
    """Moves money from the user's linked bank account to the wallet balance at once and without a fee."""
    amount_cents = cents(amount)
    if amount_cents > state.profile.bank_cents:
        raise ToolError("insufficient_balance", f"the bank account holds only {dollars(state.profile.bank_cents):.2f}")
    state.profile.bank_cents -= amount_cents
    state.profile.balance_cents += amount_cents
    return {"message": "Funds added.", "balance": dollars(state.profile.balance_cents), "at": state.tick()}


@tool(
    "wallet",
    args={"receiver_email": "E-mail address of the receiver.", "amount": _AMOUNT, "note": "Shown to the receiver."},
    returns={"transaction_id": "Id of the payment.", "balance": "The balance after it."},
    errors=("unknown_account", "insufficient_balance"),
)
def send_payment(state: State, receiver_email: str, amount: float, note: str = "") -> Json:
    """Sends money from the wallet balance to another person or shop, who is named by e-mail address."""
    name = account_name(state, receiver_email)
    paid = pay(state, name, receiver_email, cents(amount), "payment", note)
    return {
        "message": "Payment sent.",
        "transaction_id": paid.transaction_id,
        "balance": dollars(state.profile.balance_cents),
    }


@tool(
    "wallet",
    args={"receiver_email": "E-mail address of the person who is to pay.", "amount": _AMOUNT, "note": "Why."},
    returns={"payment_request_id": "Id of the request."},
    errors=("unknown_account",),
)
def create_payment_request(state: State, receiver_email: str, amount: float, note: str = "") -> Json:
    """Makes a payment request: asks another person, named by e-mail address, to pay money to the user."""
    account_name(state, receiver_email)
    amount_cents = cents(amount)
    made = PaymentRequest(state.new_id("request"), state.tick(), receiver_email, amount_cents, note, "pending")
    state.requests.append(made)
    return {"message": "Payment request created.", "payment_request_id": made.request_id}


@tool(
    "wallet",
    args={"status": "pending or paid; empty for all."},
    returns={"payment_requests": "Requests made by the user, oldest first, with receiver, amount, note and status."},
)
def list_payment_requests(state: State, status: str = "") -> Json:
    """Lists the payment requests that the user has sent, oldest first, with their receivers and their status."""
    shown = [
        {**asdict(request), "amount": dollars(request.amount_cents), "currency": "USD"}
        for request in state.requests
        if status in ("", request.status)
    ]
    for item in shown:
        del item["amount_cents"]
    return {"status": status, "total": len(shown), "payment_requests": shown}


@tool(
    "wallet",
    args={"request_id": "Id of a pending payment request."},
    returns={"reminders": "How often the receiver has been reminded."},
    errors=("unknown_id", "already_done"),
)
def remind_payment_request(state: State, request_id: str) -> Json:
    """Reminds the receiver of a pending payment request that the user is waiting for the money."""
    for request in state.requests:
        if request.request_id == request_id:
            if request.status != "pending":
                raise ToolError("already_done", f"the request {request_id!r} is {request.status}")
            request.reminders += 1
            return {
                "message": "Reminder sent.",
                "request_id": request_id,
                "reminders": request.reminders,
                "at": state.tick(),
            }
    raise ToolError("unknown_id", f"no payment request has the id {request_id!r}")


@tool(
    "wallet",
    args={
        "page": "Page number, from 1.",
        "direction": "sent or received; empty for both.",
        "query": "Part of the counterparty's name or of the note; empty for any.",
        "since": "Only transactions from this day on, YYYY-MM-DD; empty for all.",
    },
    returns={"total_pages": "Number of pages.", "transactions": "Ten transactions a page, newest first."},
)
def show_transactions(state: State, page: int = 1, direction: str = "", query: str = "", since: str = "") -> Json:
    """Shows the user's transactions, newest first, ten a page, complete with counterparty, amount and note."""
    found = [
        transaction
        for transaction in sorted(state.transactions, key=lambda item: (item.at, item.transaction_id), reverse=True)
        if direction in ("", transaction.direction)
        and query.lower() in f"{transaction.counterparty} {transaction.note}".lower()
        and transaction.at >= since
    ]
    pages = max(1, math.ceil(len(found) / 10))
    if not 1 <= page <= pages:
        raise ToolError("malformed_argument", f"there are {pages} pages, not {page}")
    return {
        "filters": {"direction": direction, "query": query, "since": since},
        "page": page,
        "total_pages": pages,
        "total": len(found),
        "transactions": [shown_transaction(item) for item in found[10 * page - 10 : 10 * page]],
    }


@tool(
    "wallet",
    args={"transaction_id": "Id of the transaction."},
    returns={"transaction": "The transaction with fees and settlement."},
    errors=("unknown_id",),
)
def show_transaction(state: State, transaction_id: str) -> Json:
    """Shows one transaction of the user in full, with fees, settlement and how it can be disputed."""
    for item in state.transactions:
        if item.transaction_id == transaction_id:
            extra = {
                "fee": 0.0,
                "settled": True,
                "dispute_until": item.at[:10],
                "support": "A payment to a friend cannot be reversed; ask for the money with a payment request.",
            }
            return {"transaction": {**shown_transaction(item), **extra}}
    raise ToolError("unknown_id", f"no transaction has the id {transaction_id!r}")


def shown_transaction(item: Transaction) -> Json:
    """A transaction as tools show it."""
    shown = {**asdict(item), "amount": dollars(item.amount_cents), "currency": "USD", "status": "completed"}
    del shown["amount_cents"]
    return shown


def pay(state: State, name: str, email: str, amount_cents: int, category: str, note: str) -> Transaction:
    """Takes the money from the balance and books the transaction, or raises insufficient_balance."""
    if amount_cents > state.profile.balance_cents:
        missing = dollars(amount_cents - state.profile.balance_cents)
        balance = dollars(state.profile.balance_cents)
        raise ToolError("insufficient_balance", f"the balance is {balance:.2f}; {missing:.2f} dollars are missing")
    state.profile.balance_cents -= amount_cents
    paid = Transaction(state.new_id("txn"), state.tick(), "sent", name, email, amount_cents, category, note)
    state.transactions.append(paid)
    return paid


def account_name(state: State, email: str) -> str:
    """The name of the wallet account with this address: a contact, a payee, or a known counterparty."""
    if not _EMAIL.fullmatch(email):
        raise ToolError("malformed_argument", f"{email!r} is not an e-mail address")
    for contact in state.contacts:
        if contact.email == email:
            return contact.name
    for bill in state.bills:
        if bill.payee_email == email:
            return bill.payee
    for transaction in state.transactions:
        if transaction.counterparty_email == email:
            return transaction.counterparty
    raise ToolError("unknown_account", f"no account belongs to {email!r}")


def dollars(amount_cents: int) -> float:
    """Cents as dollars."""
    return amount_cents / 100


def cents(amount: float) -> int:
    """Dollars as cents; raises malformed_argument unless it is a sensible amount of money."""
    if not math.isfinite(amount) or not 0 < amount <= 1_000_000:
        raise ToolError("malformed_argument", f"{amount!r} is not an amount of more than zero dollars")
    rounded = int(Decimal(str(amount)).scaleb(2).quantize(Decimal(1), ROUND_HALF_UP))
    if not rounded:
        raise ToolError("malformed_argument", f"{amount!r} is less than a cent")
    return rounded
