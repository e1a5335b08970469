"""The state of the app world: plain dataclasses, and a JSON snapshot in and out.

Money is whole cents here; tools show and take dollars. Times are ISO strings without a zone, so they sort as text.
"""

import json
import zlib
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from contextrender.errors import InputError


@dataclass
class Profile:
    """The user whose apps these are."""

    name: str
    email: str
    phone: str
    balance_cents: int
    bank_account: str
    bank_cents: int


@dataclass
class Contact:
    """One card of the address book."""

    contact_id: str
    name: str
    relationship: str
    email: str
    phone: str
    birthday: str
    address: str
    notes: str


@dataclass
class BillLine:
    """One position of a bill."""

    text: str
    quantity: int
    cents: int


@dataclass
class Advance:
    """What somebody has already paid towards a shared bill."""

    name: str
    cents: int


@dataclass
class Bill:
    """A bill; `status` is open or paid."""

    bill_id: str
    payee: str
    payee_email: str
    kind: str
    total_cents: int
    due: str
    status: str
    autopay: bool
    reference: str
    lines: list[BillLine] = field(default_factory=list)
    paid_by: list[Advance] = field(default_factory=list)


@dataclass
class Transaction:
    """Money that moved; `direction` is sent or received."""

    transaction_id: str
    at: str
    direction: str
    counterparty: str
    counterparty_email: str
    amount_cents: int
    category: str
    note: str


@dataclass
class PaymentRequest:
    """Money asked for; `status` is pending or paid."""

    request_id: str
    at: str
    receiver_email: str
    amount_cents: int
    note: str
    status: str
    reminders: int = 0


@dataclass
class Event:
    """A calendar entry."""

    event_id: str
    title: str
    start: str
    end: str
    location: str
    attendees: list[str]
    notes: str


@dataclass
class Text:
    """A text message that was sent."""

    text_id: str
    at: str
    phone: str
    text: str


@dataclass
class State:
    """Everything the tools read and change."""

    seed: int
    now: str
    counter: int
    profile: Profile
    contacts: list[Contact] = field(default_factory=list)
    bills: list[Bill] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)
    requests: list[PaymentRequest] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)

    def new_id(self, prefix: str) -> str:
        """The next id with this prefix: a function of the seed and of how many ids were made before."""
        self.counter += 1
        return f"{prefix}_{zlib.crc32(f'{self.seed}:{prefix}:{self.counter}'.encode()):08x}"

    def tick(self) -> str:
        """Moves the clock by a minute, as each change of the world does; returns the new time."""
        self.now = (datetime.fromisoformat(self.now) + timedelta(minutes=1)).isoformat(timespec="seconds")
        return self.now


def dumps(state: State) -> str:
    """The state as JSON text: equal states give equal bytes."""
    return json.dumps(asdict(state), ensure_ascii=False, sort_keys=True)


def loads(snapshot: str) -> State:
    """The state that `dumps` wrote. Raises InputError on anything else."""
    try:
        data: dict[str, Any] = json.loads(snapshot)
        data["profile"] = Profile(**data["profile"])
        data["contacts"] = [Contact(**item) for item in data["contacts"]]
        data["bills"] = [_bill(item) for item in data["bills"]]
        data["transactions"] = [Transaction(**item) for item in data["transactions"]]
        data["requests"] = [PaymentRequest(**item) for item in data["requests"]]
        data["events"] = [Event(**item) for item in data["events"]]
        data["texts"] = [Text(**item) for item in data["texts"]]
        return State(**data)
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"not a snapshot of the app world: {error!r}", accepted="the text that dumps() returns"
        ) from error


def copy_state(state: State) -> State:
    """An independent copy."""
    return loads(dumps(state))


def _bill(item: dict[str, Any]) -> Bill:
    lines = [BillLine(**line) for line in item.pop("lines")]
    paid_by = [Advance(**advance) for advance in item.pop("paid_by")]
    return Bill(**item, lines=lines, paid_by=paid_by)
