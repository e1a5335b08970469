"""When a task is done: each function compares the state before with the state after and returns what is unmet.

Everything expected is derived from the state before, so it holds for every seed. Effects that nobody asked for (a
payment too many, a request to the wrong person) are unmet conditions too.
"""

import re

from contextrender.world.build import people
from contextrender.world.programs.dinner import DINNER_REPORT
from contextrender.world.programs.money import BILLS_REPORT, CONCERT, DISPUTES, TRIP_REPORT
from contextrender.world.programs.office import RECEIPTS_REPORT, SUBSCRIPTIONS_REPORT
from contextrender.world.programs.planning import GIFT_REPORT, PLAN
from contextrender.world.state import Contact, Event, PaymentRequest, State, Transaction

type Money = list[tuple[str, int]]


def dinner(before: State, after: State) -> list[str]:
    """Shares asked of those who paid nothing, the difference given back, deadline, text and report."""
    bill = next(bill for bill in before.bills if bill.kind == "shared_dinner")
    roommates = people(before, "roommate")
    share = bill.total_cents // (len(roommates) + 1)
    advance = next(part for part in bill.paid_by if part.name != before.profile.name)
    creditor = next(card for card in roommates if card.name == advance.name)
    debtors = [card for card in roommates if card is not creditor]
    unmet = _money_moved(
        before, after, [(creditor.email, advance.cents - share)], [(card.email, share) for card in debtors]
    )
    unmet += _invited(before, after, debtors)
    unmet += _told(after, [creditor])
    wanted = [request.request_id for request in _new_requests(before, after)]
    wanted += [payment.transaction_id for payment in _new_payments(before, after)]
    return unmet + _file_holds(after, DINNER_REPORT, wanted)


def utilities(before: State, after: State) -> list[str]:
    """Every open utility bill due in March paid once, and reported with its reference and transaction."""
    due = [bill for bill in before.bills if bill.kind == "utility" and bill.due < "2026-03-31"]
    unmet = _money_moved(before, after, [(bill.payee_email, bill.total_cents) for bill in due], [])
    unmet += [f"the bill {bill.bill_id} is not paid" for bill in after.bills if bill in due]
    paid = {payment.counterparty_email: payment for payment in _new_payments(before, after)}
    for bill in due:
        payment = paid.get(bill.payee_email)
        if payment:
            unmet += _file_holds(after, BILLS_REPORT, [f"{bill.bill_id} {bill.reference} {payment.transaction_id}"])
    return unmet


def refund(before: State, after: State) -> list[str]:
    """The second payment for the ticket asked back with its id in the note; the log kept and continued."""
    tickets = sorted((item for item in before.transactions if item.note == CONCERT), key=lambda item: item.at)
    second = tickets[1]
    unmet = _money_moved(before, after, [], [(second.counterparty_email, second.amount_cents)])
    made = _new_requests(before, after)
    if not any(second.transaction_id in request.note for request in made):
        unmet.append(f"no request quotes the transaction {second.transaction_id}")
    if not after.files.get(DISPUTES, "").startswith(before.files[DISPUTES]):
        unmet.append(f"{DISPUTES} has lost earlier entries")
    return unmet + _file_holds(after, DISPUTES, [second.transaction_id, *(request.request_id for request in made)])


def trip(before: State, after: State) -> list[str]:
    """The four others settled with the user to the cent, under the trip code, and noted."""
    code = re.findall(r"TRIP-\d+-CABIN", before.files["/trip/readme.md"])[0]
    group = [before.profile.name, *(card.name for card in people(before, "friend")[:4])]
    paid = dict.fromkeys(group, 0)
    for row in before.files["/trip/ledger.csv"].splitlines()[1:]:
        _, name, _, amount = row.split(",")
        paid[name] += round(float(amount) * 100)
    share = sum(paid.values()) // len(group)
    email = {card.name: card.email for card in before.contacts}
    owed = [(email[name], paid[name] - share) for name in group[1:] if paid[name] > share]
    asked = [(email[name], share - paid[name]) for name in group[1:] if paid[name] < share]
    unmet = _money_moved(before, after, owed, asked)
    requests, payments = _new_requests(before, after), _new_payments(before, after)
    if any(note != code for note in [item.note for item in requests] + [item.note for item in payments]):
        unmet.append(f"a payment or request does not carry the trip code {code}")
    ids = [item.request_id for item in requests] + [item.transaction_id for item in payments]
    return unmet + _file_holds(after, TRIP_REPORT, [code, *ids])


def receipts(before: State, after: State) -> list[str]:
    """One line a receipt: its transaction and ok, the difference, or that there is none; and the sum."""
    unmet, total = [], 0
    for path, text in before.files.items():
        if not path.startswith("/receipts/"):
            continue
        number, day, shop = (re.findall(rf"^{key}: (.*)$", text, re.M)[0] for key in ("Receipt no", "Date", "Merchant"))
        amount = round(float(re.findall(r"^Total: (.*)$", text, re.M)[0]) * 100)
        total += amount
        booked = [item for item in before.transactions if item.counterparty == shop and item.at[:10] == day]
        if not booked:
            line = f"{number} no transaction"
        elif booked[0].amount_cents == amount:
            line = f"{number} {booked[0].transaction_id} ok"
        else:
            line = f"{number} {booked[0].transaction_id} differs by {(booked[0].amount_cents - amount) / 100:.2f}"
        unmet += _file_holds(after, RECEIPTS_REPORT, [line])
    unmet += _file_holds(after, RECEIPTS_REPORT, [f"sum {total / 100:.2f}"])
    return unmet + _money_moved(before, after, [], [])


def schedule(before: State, after: State) -> list[str]:
    """A dinner on the first common evening with both guests, who are told; the dentist cancelled; the plan noted."""
    guests = [people(before, "friend")[0], people(before, "coworker")[4]]
    text = before.files["/notes/availability.md"]
    free = [set(re.findall(rf"^{card.name}: (.*)$", text, re.M)[0].split(", ")) for card in guests]
    taken = {item.start[:10] for item in before.events if item.start[11:] < "21:00:00" and item.end[11:] > "19:00:00"}
    day = min(set.intersection(*free) - taken)
    place = before.files["/notes/restaurants.md"].split("Decided for the next dinner: ")[1].split(".")[0]
    unmet = _invited(before, after, guests)
    made = _new_events(before, after)
    if not any(event.start == f"{day}T19:00:00" and event.location == place for event in made):
        unmet.append(f"no dinner at {place} on {day} at 19:00")
    if any(event.title == "Dentist check-up" for event in after.events):
        unmet.append("the dentist is not cancelled")
    if len(after.events) != len(before.events):
        unmet.append("another event was made or deleted")
    unmet += _told(after, guests)
    wanted = [*(card.phone for card in guests), *(event.event_id for event in made)]
    return unmet + _file_holds(after, PLAN, wanted) + _money_moved(before, after, [], [])


def gift(before: State, after: State) -> list[str]:
    """Those not yet asked are asked, those who have not paid reminded once, the shop paid, the birthday noted."""
    person, *pledged = people(before, "coworker")
    note = f"Gift for {person.name}"
    amounts = dict(re.findall(r"^- (\w+ \w+): ([\d.]+)$", before.files["/notes/gift_pledges.md"], re.M))
    known = {request.receiver_email: request for request in before.requests if request.note == note}
    asked = [(card.email, round(float(amounts[card.name]) * 100)) for card in pledged if card.email not in known]
    order = before.files["/notes/gift_order.md"]
    number, price = re.findall(r"Order number: (\S+)\nPrice: ([\d.]+)", order)[0]
    shop = re.findall(r"wallet (\S+)", order)[0]
    unmet = _money_moved(before, after, [(shop, round(float(price) * 100))], asked)
    if any(payment.note != number for payment in _new_payments(before, after)):
        unmet.append(f"the payment does not carry the order number {number}")
    for request in after.requests:
        old = known.get(request.receiver_email) if request.note == note else None
        wanted = int(old is not None and old.status == "pending")
        if request.reminders != wanted:
            unmet.append(f"{request.request_id} has {request.reminders} reminders instead of {wanted}")
    unmet += _invited(before, after, pledged)
    if not any(event.start[4:10] == person.birthday[4:] for event in _new_events(before, after)):
        unmet.append(f"no event on the birthday of {person.name}")
    paid = [payment.transaction_id for payment in _new_payments(before, after)]
    requests = [request.request_id for request in after.requests if request.note == note]
    return unmet + _file_holds(after, GIFT_REPORT, [number, *paid, *requests])


def subscriptions(before: State, after: State) -> list[str]:
    """Autopay off for exactly the subscriptions that are not kept, and a report with references and the saving."""
    keep = re.findall(r"^- keep: (.*)$", before.files["/notes/subscriptions.md"], re.M)
    unmet, saved = [], 0
    for old, new in zip(before.bills, after.bills, strict=True):
        ends = old.kind == "subscription" and old.payee not in keep
        if new.autopay != (old.autopay and not ends):
            unmet.append(f"autopay of {old.payee} is {new.autopay}")
        if ends:
            saved += 12 * old.total_cents
            unmet += _file_holds(after, SUBSCRIPTIONS_REPORT, [f"{old.bill_id} {old.reference} ended"])
    unmet += _file_holds(after, SUBSCRIPTIONS_REPORT, [f"saved a year: {saved / 100:.2f}"])
    return unmet + _money_moved(before, after, [], [])


def _new_requests(before: State, after: State) -> list[PaymentRequest]:
    return after.requests[len(before.requests) :]


def _new_payments(before: State, after: State) -> list[Transaction]:
    return after.transactions[len(before.transactions) :]


def _new_events(before: State, after: State) -> list[Event]:
    known = {event.event_id for event in before.events}
    return [event for event in after.events if event.event_id not in known]


def _money_moved(before: State, after: State, payments: Money, requests: Money) -> list[str]:
    """Exactly these payments and requests were made: what is missing, and what is too many."""
    sent = [(item.counterparty_email, item.amount_cents) for item in _new_payments(before, after)]
    asked = [(item.receiver_email, item.amount_cents) for item in _new_requests(before, after)]
    unmet = []
    for kind, wanted, made in (("payment", payments, sent), ("request", requests, asked)):
        left = list(made)
        for email, cents in wanted:
            if (email, cents) in left:
                left.remove((email, cents))
            else:
                unmet.append(f"no {kind} of {cents / 100:.2f} to {email}")
        unmet += [f"a {kind} of {cents / 100:.2f} to {email} that nobody asked for" for email, cents in left]
    return unmet


def _invited(before: State, after: State, guests: list[Contact]) -> list[str]:
    wanted = sorted(card.email for card in guests)
    if any(sorted(event.attendees) == wanted for event in _new_events(before, after)):
        return []
    return [f"no new event invites exactly {', '.join(wanted)}"]


def _told(after: State, receivers: list[Contact]) -> list[str]:
    phones = [text.phone for text in after.texts]
    unmet = [f"{card.name} got no text message" for card in receivers if card.phone not in phones]
    known = {card.phone for card in receivers}
    return unmet + [f"a text to {phone} that nobody asked for" for phone in phones if phone not in known]


def _file_holds(after: State, path: str, wanted: list[str]) -> list[str]:
    text = after.files.get(path)
    if text is None:
        return [f"{path} does not exist"]
    return [f"{path} does not hold {item}" for item in wanted if item not in text]
