"""Builds the world of a seed: the same seed always gives the same state.

Three roommates have fixed names and addresses (the paper's Figure 2); everybody and everything else is drawn.
Their addresses occur in their contact cards only.
"""

from datetime import date, timedelta
from random import Random

from contextrender.world.notes import SHOPS, write_notes
from contextrender.world.state import (
    Advance,
    Bill,
    BillLine,
    Contact,
    Event,
    PaymentRequest,
    Profile,
    State,
    Transaction,
)

NOW = "2026-03-14T18:20:00"
ROOMMATES = (
    ("Kathryn Maldonado", "kathrynmaldonado@gmail.com"),
    ("Troy Solis", "tr_solo@gmail.com"),
    ("Nancy Ritter", "nan_ritt@gmail.com"),
)
_FIRST = (
    "Amelia",
    "Bruno",
    "Camila",
    "Devon",
    "Elena",
    "Farid",
    "Greta",
    "Hugo",
    "Imani",
    "Jasper",
    "Keiko",
    "Leon",
    "Mirela",
    "Nadia",
    "Oscar",
    "Priya",
    "Quentin",
    "Rosa",
    "Stefan",
    "Tamara",
    "Umar",
    "Vera",
    "Wesley",
    "Ximena",
)
_LAST = (
    "Abbott",
    "Barlow",
    "Castillo",
    "Duarte",
    "Eklund",
    "Farrow",
    "Grimaldi",
    "Hassan",
    "Ingram",
    "Jovanovic",
    "Kessler",
    "Lindqvist",
    "Moretti",
    "Novak",
    "Okafor",
    "Petrov",
    "Quigley",
    "Ramirez",
    "Sandoval",
    "Thornton",
    "Underhill",
    "Vasquez",
    "Whitaker",
    "Yamada",
)
_RELATIONS = ["friend"] * 6 + ["coworker"] * 5 + ["family"] * 3 + ["neighbor"] * 2 + ["landlord", "doctor"]
_STREETS = ("Alder Court", "Birch Lane", "Cannery Row", "Dock Street", "Elm Terrace", "Foundry Way", "Garnet Avenue")
_CARD_NOTES = (
    "Prefers messages to calls; answers in the evening. Allergic to peanuts. Met at the climbing hall in 2021.",
    "Works shifts, so plan a week ahead. Has a spare key. Likes to split costs to the cent and to settle at once.",
    "Moved here from Portland. Has a car that can be borrowed for moving. Vegetarian, drinks no coffee after noon.",
    "Keeps the old number for work only. Plays in the Thursday volleyball team; knows a good bicycle repair shop.",
)
_SERVICES = ("Streamhaus", "Paperboy Daily", "Cloudlocker", "Fitforge Gym", "Tunewell", "Mapleway Transit")
_UTILITIES = ("Northgrid Electric", "Clearspring Water", "Hearth Gas", "Fiberline Internet")
_DISHES = (
    "Burrata with grilled peaches",
    "Carpaccio with capers",
    "Bruschetta, four pieces",
    "Olives and bread",
    "Tagliatelle al ragu",
    "Risotto with saffron",
    "Branzino, grilled",
    "Ravioli with ricotta",
    "Insalata verde",
    "Pizza Lucana",
    "Tiramisu",
    "Panna cotta with berries",
    "Lemon sorbet",
    "House red, one litre",
    "Sparkling water, large",
    "Grappa",
    "Espresso",
    "Macchiato",
)


def build_world(seed: int = 7) -> State:
    """A new world for this seed."""
    rng = Random(seed)
    profile = Profile("Jordan Avery", "jordan@avery.example", "+1-555-0142-700", 61_000, "Harbor Savings 4417", 250_000)
    state = State(seed, NOW, 0, profile)
    _add_contacts(state, rng)
    _add_bills(state, rng)
    _add_transactions(state, rng)
    _add_requests(state, rng)
    _add_events(state, rng)
    write_notes(state, rng)
    return state


def people(state: State, relationship: str) -> list[Contact]:
    """The contacts of one relationship, in the order of the address book."""
    return [contact for contact in state.contacts if contact.relationship == relationship]


def merchant_email(name: str) -> str:
    """The wallet address of a shop."""
    return f"pay@{name.lower().replace(' ', '')}.example"


def _add_contacts(state: State, rng: Random) -> None:
    firsts, lasts = list(_FIRST), list(_LAST)
    rng.shuffle(firsts)
    rng.shuffle(lasts)
    drawn = []
    for number, relationship in enumerate(_RELATIONS):
        first, last = firsts[number], lasts[number]
        handle = rng.choice((f"{first[:3]}_{last[:4]}", f"{last}_{first[0]}{number}", f"{first}.{last}{10 + number}"))
        domain = rng.choice(("gmail.com", "outlook.com", "fastmail.com"))
        drawn.append((f"{first} {last}", f"{handle.lower()}@{domain}", relationship))
    drawn += [(name, email, "roommate") for name, email in ROOMMATES]
    rng.shuffle(drawn)
    for name, email, relationship in drawn:
        phone = f"+1-555-{rng.randrange(1000, 10000)}-{rng.randrange(100, 1000)}"
        birthday = f"{rng.randrange(1975, 2002)}-{rng.choice((4, 5, 6)):02d}-{rng.randrange(1, 29):02d}"
        address = f"{rng.randrange(2, 400)} {rng.choice(_STREETS)}, Apt {rng.randrange(1, 40)}"
        card = Contact(
            state.new_id("con"), name, relationship, email, phone, birthday, address, rng.choice(_CARD_NOTES)
        )
        state.contacts.append(card)


def _add_bills(state: State, rng: Random) -> None:
    share = rng.randrange(46, 68)
    advance = share + rng.randrange(35, 70)
    lines = [BillLine(dish, rng.randrange(1, 3), 100 * rng.randrange(4, 10)) for dish in _DISHES]
    lines.append(BillLine("Service and cover", 4, 400 * share - sum(line.cents for line in lines)))
    dinner = _bill(state, rng, "Trattoria Lucana", "shared_dinner", 400 * share, "2026-03-20", False)
    dinner.lines = lines
    dinner.paid_by = [Advance(state.profile.name, 100 * (4 * share - advance)), Advance(ROOMMATES[2][0], 100 * advance)]
    for name in _UTILITIES:
        day = rng.randrange(18, 30)
        _bill(state, rng, name, "utility", rng.randrange(14_000, 23_000), f"2026-03-{day}", False)
    for name in _SERVICES:
        _bill(state, rng, name, "subscription", rng.randrange(599, 5999), f"2026-04-{rng.randrange(1, 12):02d}", True)
    _bill(state, rng, "Maple Row Properties", "rent", 124_500, "2026-04-01", True)
    _bill(state, rng, "City Parking Office", "utility", 4_500, "2026-04-15", False)


def _bill(state: State, rng: Random, payee: str, kind: str, total: int, due: str, autopay: bool) -> Bill:
    reference = f"{payee[:3].upper()}-{rng.randrange(10**7, 10**8)}-{rng.randrange(10, 100)}"
    base = total * 3 // 4
    lines = [
        BillLine(f"{payee}, basic charge for the period up to {due}", 1, base),
        BillLine("Consumption and extras as agreed in the contract", rng.randrange(1, 90), total - base - 150),
        BillLine("Paper invoice and statutory levies", 1, 150),
    ]
    bill_id = state.new_id("bill")
    state.bills.append(Bill(bill_id, payee, merchant_email(payee), kind, total, due, "open", autopay, reference, lines))
    return state.bills[-1]


def _add_transactions(state: State, rng: Random) -> None:
    others = [contact for contact in state.contacts if contact.relationship in ("friend", "coworker", "family")]
    for number in range(34):
        day = date(2026, 1, 6) + timedelta(days=number * 2 - rng.randrange(2))
        if number % 3:
            name = rng.choice(SHOPS)
            email, direction, note = (
                merchant_email(name),
                "sent",
                f"Card purchase at {name}, terminal {rng.randrange(100, 999)}",
            )
            category = "card_purchase"
        else:
            contact = rng.choice(others)
            name, email, direction = contact.name, contact.email, rng.choice(("sent", "received"))
            note, category = (
                rng.choice(("Lunch last week", "Bus tickets", "Flowers for the office", "Board game")),
                "payment",
            )
        if day < date(2026, 3, 1) or category == "payment":
            _book(state, rng, str(day), direction, name, email, rng.randrange(450, 9000), category, note)
    for number in range(1, 13):
        ride, amount = (
            f"Tram ride, line {rng.randrange(1, 19)}, ticket {rng.randrange(10**5, 10**6)}",
            rng.randrange(210, 480),
        )
        operator = "Mapleway Transit"
        _book(
            state,
            rng,
            f"2026-03-{number:02d}",
            "sent",
            operator,
            merchant_email(operator),
            amount,
            "card_purchase",
            ride,
        )
    friend = people(state, "friend")[4]
    price = rng.randrange(6_000, 9_500)
    for evening in ("2026-02-11", "2026-02-12"):
        _book(state, rng, evening, "sent", friend.name, friend.email, price, "payment", "Concert ticket, Harbor Hall")
    for _ in range(2):
        _book(state, rng, "2026-02-20", "sent", friend.name, friend.email, price // 3, "payment", "Pizza night")


def _book(
    state: State, rng: Random, day: str, direction: str, name: str, email: str, amount: int, category: str, note: str
) -> None:
    at = f"{day}T{rng.randrange(8, 22):02d}:{rng.randrange(60):02d}:{rng.randrange(60):02d}"
    state.transactions.append(Transaction(state.new_id("txn"), at, direction, name, email, amount, category, note))


def _add_requests(state: State, rng: Random) -> None:
    """The gift collection: of the coworkers after the first, one has paid, one is asked, two are not yet asked."""
    coworkers = people(state, "coworker")
    for person, status in ((coworkers[1], "paid"), (coworkers[2], "pending")):
        amount = 100 * rng.randrange(15, 31)
        note = f"Gift for {coworkers[0].name}"
        at = "2026-03-09T12:00:00"
        state.requests.append(PaymentRequest(state.new_id("request"), at, person.email, amount, note, status))
    for friend in people(state, "friend")[4:6]:
        amount = 100 * rng.randrange(8, 40)
        request = PaymentRequest(
            state.new_id("request"), "2026-02-27T19:30:00", friend.email, amount, "Cinema evening", "paid"
        )
        state.requests.append(request)


def _add_events(state: State, rng: Random) -> None:
    doctor, coworkers = people(state, "doctor")[0], people(state, "coworker")
    places = ("Room 4.12, second floor", "Harbor Hall, main entrance", "Video call, link in the invitation")
    plan = [
        ("Dentist check-up", "2026-03-17T18:30:00", "2026-03-17T19:30:00", [doctor.email]),
        (
            "Quarterly planning",
            "2026-03-16T17:00:00",
            "2026-03-16T20:00:00",
            [person.email for person in coworkers[:3]],
        ),
        ("Volleyball", "2026-03-19T19:00:00", "2026-03-19T21:00:00", [coworkers[3].email]),
        ("Design review", "2026-03-18T10:00:00", "2026-03-18T11:30:00", [person.email for person in coworkers[2:]]),
        ("Lease inspection", "2026-03-20T09:00:00", "2026-03-20T09:45:00", [people(state, "landlord")[0].email]),
        ("Retrospective", "2026-03-27T15:00:00", "2026-03-27T16:00:00", [person.email for person in coworkers]),
    ]
    for title, start, end, attendees in plan:
        notes = f"{title}: please read the agenda beforehand and bring what was agreed last time. Cancel a day ahead."
        state.events.append(Event(state.new_id("event"), title, start, end, rng.choice(places), attendees, notes))
