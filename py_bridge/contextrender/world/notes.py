"""The files of the world: notes, ledgers and receipts, made from the seed and from what is already in the state."""

from random import Random

from contextrender.world.state import State, Transaction

SHOPS = (
    "Bluebird Market",
    "Corner Hardware",
    "Lantern Books",
    "Orchid Pharmacy",
    "Quay Coffee Roasters",
    "Tandem Cycles",
)
_ITEMS = (
    "Oat flakes",
    "Wood screws 4x40",
    "Paperback",
    "Plasters",
    "Filter coffee 500 g",
    "Brake pads",
    "Batteries",
    "Soap",
)
_RULES = """# House rules, Maple Row 18
1. Quiet after 22:30 on weekdays, after midnight on Fridays and Saturdays. The courtyard carries every sound, so the
   windows are shut when there is music, and rehearsals are announced on the board a day before.
2. The kitchen is left as one would like to find it: stove wiped, sink empty, dishwasher started when it is full. What
   stands in the fridge without a name on it belongs to everybody; what has a name on it is left alone.
3. Bins go out on Monday evening (paper, glass) and on Thursday evening (rest). Whoever is home first brings them in.
4. The cleaning plan hangs on the fridge and rotates weekly; swaps are fine when they are written down. Bathroom and
   hall count as one turn, kitchen and balcony as another. Windows are cleaned together on the first Saturday of spring.
5. Visitors who stay for more than three nights are announced to everybody, and the shower queue has priority.
6. Shared shopping: keep the receipt, write your name on it, settle at the end of the month through the wallet.
7. Shared meals out: one bill, equal parts for everybody who lives here, settled within the week. Whoever paid more
   than the own part on the evening gets the difference back; whoever paid nothing is sent a payment request.
8. The router is restarted only after asking. The guest network has its own password on the back of the door.
9. Plants on the balcony are watered by whoever cooks that day; the basil is nobody's and may be eaten.
10. Keys: two spare sets are with the neighbours on the second floor. A lost key is reported to the landlord at once,
    and the cylinder is paid by whoever lost it. Bicycles stand in the yard, not in the staircase.
"""
_MINUTES = """# Minutes of the flat, first quarter
## 11 January
- Heating: the valve in the hall sticks at three. Landlord informed by letter, plumber announced for the 22nd, between
  eight and noon; somebody has to be home. Until then the small heater from the cellar may be used, not over night.
- Balcony: winter covers hold, one of the two chairs is broken beyond repair and goes to the dump with the next ride.
- Washing machine: the filter was full of coins (2.35 dollars, now in the jar). Whoever washes empties pockets first.
- Internet: four drop-outs since the new year. The provider measured the line and found nothing; we keep a list.
## 8 February
- Plumber came on the 24th instead of the 22nd, valve replaced, invoice goes to the landlord. The wall behind it is
  damp; photos are in the shared folder, the landlord wants to see it in April.
- Cleaning plan: works on three weeks out of four. Proposal to pay a cleaner once a month was discussed for half an
  hour and put off; an offer for a two-hour visit is to be asked for by the end of March.
- Shared shopping of January: everybody has settled in cash, the envelope is empty, the receipts are thrown away.
- Sofa: the blue one from the second floor is free if we carry it. Measured: fits through the door without its legs.
## 1 March
- Sofa carried and placed. The old one was collected by the city, the fee of 18 dollars came from the jar.
- Spring cleaning of the windows on the 21st, ladder borrowed from the yard, cloths and vinegar are in the cupboard.
- Bicycle cellar: the lock gets changed, one key for each; deposit of five dollars into the jar until the return.
- Dinner out on the 12th at the Trattoria, table for all of us at 19:30. Paid by card on the spot, no cash, settled
  afterwards through the wallet as house rule 7 says. Nothing of it is settled yet when these minutes are closed.
- Summer: subletting during the holidays needs the landlord's word in writing; requests by the end of April.
"""
_LOG = """# Disputes and refunds, kept since 2024
2024-05-02 closed  Paid the parking fine twice, city office returned 45.00 after six weeks and three letters.
2024-11-19 closed  Wrong size of tyre from the cycle shop, exchanged against the receipt without discussion.
2025-02-27 closed  Train refund form sent by post, answered after two months with a voucher, used for the trip in June.
2025-08-14 closed  Double booking of the hotel in Astoria, cleared by telephone, confirmation in the mail folder.
2025-12-30 open    Streamhaus charged the old tariff in December; wrote to support, still waiting for an answer.
"""


def write_notes(state: State, rng: Random) -> None:
    """Adds every file to the state, and the card purchases that most of the receipts belong to."""
    files = state.files
    files["/notes/house_rules.md"] = _RULES
    files["/notes/flat_meeting.md"] = _MINUTES
    files["/notes/disputes.md"] = _LOG
    files["/notes/dinner_march.md"] = (
        "# Dinner on 12 March\nTrattoria Lucana, everybody from the flat was there and nobody else. Two cards were "
        "used on the evening, the bill in the bills app says whose and how much.\nHouse rule 7 applies: equal parts; "
        "whoever paid more than the own part gets the difference back, whoever paid nothing gets a payment request.\n"
        "I promised to settle this for everybody: requests to those who paid nothing, and from my wallet the "
        "difference to the other one who paid.\nAfterwards: a calendar entry for the deadline with those who owe, a "
        "text to the one who got money back, and a line in /reports/dinner_settlement.txt.\n"
    )
    _availability(state, rng)
    _subscriptions(state, rng)
    _gift(state, rng)
    _trip(state, rng)
    _receipts(state, rng)


def names(state: State, relationship: str) -> list[str]:
    """The names of the contacts of one relationship, in the order of the address book."""
    return [contact.name for contact in state.contacts if contact.relationship == relationship]


def _availability(state: State, rng: Random) -> None:
    """Evenings on which a friend and a coworker are free; the 17th, 19th and one or two more are common."""
    common = ["2026-03-17", "2026-03-19", rng.choice(("2026-03-18", "2026-03-20", "2026-03-21"))]
    lines = ["# Who is free when (evenings, 19:00 to 21:00), week of 16 March", ""]
    for name, extra in ((names(state, "friend")[0], "2026-03-22"), (names(state, "coworker")[4], "2026-03-15")):
        lines += [f"{name}: {', '.join(sorted({*common, extra}))}"]
    lines += [f"{name}: cannot say yet, asks again after the weekend" for name in names(state, "friend")[1:5]]
    state.files["/notes/availability.md"] = "\n".join(lines) + "\n"
    places = ("Ember Noodle House", "Salt and Thistle", "Casa Naranja")
    text = "# Restaurants to try\n" + "".join(
        f"- {place}: table code {place[:3].upper()}-{rng.randrange(1000, 9999)}, opens 18:00, closed on "
        f"Sundays and Mondays, main courses {rng.randrange(14, 19)} to {rng.randrange(22, 34)} dollars, quiet enough "
        f"to talk, vegetarian dishes, ten minutes on foot from the tram; ask for the table by the window.\n"
        for place in places
    )
    state.files["/notes/restaurants.md"] = text + f"Decided for the next dinner: {rng.choice(places)}.\n"


def _subscriptions(state: State, rng: Random) -> None:
    payees = [bill.payee for bill in state.bills if bill.kind == "subscription"]
    keep = sorted(rng.sample(payees, 3))
    lines = ["# Subscriptions, review of March", "Keep only what was used in the last three months:"]
    lines += [f"- keep: {payee}" for payee in keep]
    lines += ["Everything else of the kind subscription is to end: turn its autopay off, note the yearly saving."]
    state.files["/notes/subscriptions.md"] = "\n".join(lines) + "\n"


def _gift(state: State, rng: Random) -> None:
    coworkers = names(state, "coworker")
    lines = [f"# Birthday gift for {coworkers[0]}", "Pledged:"]
    pledges = {
        coworkers[1]: 0,
        coworkers[2]: 0,
        coworkers[3]: rng.randrange(15, 31),
        coworkers[4]: rng.randrange(15, 31),
    }
    for name in (coworkers[1], coworkers[2]):
        email = next(contact.email for contact in state.contacts if contact.name == name)
        pledges[name] = next(r.amount_cents for r in state.requests if r.receiver_email == email) // 100
    lines += [f"- {name}: {amount}.00" for name, amount in pledges.items()]
    lines += ["Who has not been asked yet gets a payment request; who was asked and has not paid gets one reminder."]
    state.files["/notes/gift_pledges.md"] = "\n".join(lines) + "\n"
    state.files["/notes/gift_order.md"] = (
        "# Gift order\nShop: Lantern Books, wallet pay@lanternbooks.example\n"
        f"Order number: ORD-{rng.randrange(10**6, 10**7)}\nPrice: {rng.randrange(80, 120)}.00\n"
        "The shop holds the order for five days. It is wrapped on the day of the payment when the order number is the "
        "note of the payment; without it the payment is returned. Pick-up at the back entrance from 10:00.\n"
    )


def _trip(state: State, rng: Random) -> None:
    """A ledger of a trip of five, every position a multiple of five dollars, shared equally."""
    group = [state.profile.name, *names(state, "friend")[:4]]
    texts = (
        "Cabin first night",
        "Cabin second night",
        "Fuel on the way out",
        "Groceries for three days at the market hall",
        "Ferry tickets for the car and five people",
        "Kayak rental for half a day with deposit returned",
        "Breakfast at the pier",
        "Firewood and matches",
        "Parking at the trail head",
        "Fuel on the way back",
        "Dinner on the last evening",
    )
    rows = ["date,paid_by,description,amount"]
    for number, text in enumerate(texts):
        payer = group[number % 3] if number < 9 else group[rng.randrange(1, 3)]
        rows.append(f"2026-02-{13 + number // 4},{payer},{text},{5 * rng.randrange(5, 45)}.00")
    state.files["/trip/ledger.csv"] = "\n".join(rows) + "\n"
    state.files["/trip/readme.md"] = (
        f"# Cabin trip, 13 to 15 February\nGroup of five: {', '.join(group)}.\nEverything in ledger.csv is shared "
        "equally by all five. Everybody settles with Jordan, not with each other: whoever is below the own share gets "
        "a payment request from Jordan, whoever is above it gets the difference from Jordan. Note of every payment "
        f"and request: the trip code TRIP-{rng.randrange(1000, 9999)}-CABIN.\n"
    )


def _receipts(state: State, rng: Random) -> None:
    """Six receipts of March; one has no transaction, one has a transaction of another amount."""
    missing, differs = rng.sample(range(len(SHOPS)), 2)
    for number, shop in enumerate(SHOPS):
        day = f"2026-03-{2 + number:02d}"
        bought = rng.sample(_ITEMS, 5)
        prices = [rng.randrange(150, 2500) for _ in bought]
        total = sum(prices)
        lines = [
            shop.upper(),
            f"Store 0{rng.randrange(10, 99)}, terminal {rng.randrange(100, 999)}, cashier {rng.randrange(10, 60)}",
            f"Receipt no: RCP-{rng.randrange(10**5, 10**6)}",
            f"Date: {day}",
            f"Merchant: {shop}",
            *(f"{item:<24}{price / 100:>8.2f}  A" for item, price in zip(bought, prices, strict=True)),
            f"Total: {total / 100:.2f}",
            f"Card ending 4417, authorisation AUTH{rng.randrange(10**5, 10**6)}, chip and PIN",
            "Goods may be exchanged within 14 days against this receipt. Food, medicine and opened media are excluded.",
            "Thank you for shopping local. Your opinion counts: leave it at the counter or in the letter box.",
        ]
        state.files[f"/receipts/{day}_{shop.lower().replace(' ', '_')}.txt"] = "\n".join(lines) + "\n"
        if number != missing:
            email = f"pay@{shop.lower().replace(' ', '')}.example"
            amount = total + (100 * rng.randrange(2, 9) if number == differs else 0)
            note = f"Card purchase at {shop}"
            at = f"{day}T{rng.randrange(9, 20):02d}:15:00"
            state.transactions.append(
                Transaction(state.new_id("txn"), at, "sent", shop, email, amount, "card_purchase", note)
            )
