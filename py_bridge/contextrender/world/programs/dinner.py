"""The roommates' dinner, the run of the paper's Figure 2."""

from contextrender.world.agent import Act, Turn
from contextrender.world.programs.facts import (
    bill,
    bills,
    contact,
    do,
    finish,
    money,
    payment_to,
    request_to,
    result,
)
from contextrender.world.view import Call, Json, Missing, View

ME = "Jordan Avery"
DINNER_REPORT = "/reports/dinner_settlement.txt"


def _roommates(view: View) -> list[Json]:
    """The contact cards of all roommates, by name; only complete where the search by relationship is visible."""
    for record in view.find_all(("total", "contacts")):
        if record["contacts"] and all(card["relationship"] == "roommate" for card in record["contacts"]):
            return sorted(record["contacts"], key=lambda card: str(card["name"]))
    raise Missing("the contact cards of the roommates", Call("search_contacts", {"relationship": "roommate"}))


def _dinner(view: View) -> Json:
    """The dinner bill in full; its id comes from the list of open bills."""
    shared = [item["bill_id"] for item in bills(view, status="open") if item["kind"] == "shared_dinner"]
    return bill(view, shared[0])


def _creditor(view: View) -> tuple[str, float]:
    """Name and advance of the roommate who also paid on the evening."""
    return next((part["name"], part["amount"]) for part in _dinner(view)["paid_by"] if part["name"] != ME)


def _share(view: View) -> float:
    return result(view, "share of each", lambda: f"{_dinner(view)['total']} / {len(_roommates(view)) + 1}")


def _owed(view: View) -> tuple[str, float]:
    """Name of the creditor and what is owed to them: from the calculator's label and result."""
    for record in view.find_all(("label", "result")):
        if str(record["label"]).startswith("owed to "):
            return str(record["label"]).removeprefix("owed to "), float(record["result"])
    name, advance = _creditor(view)
    call = Call("calculator", {"expression": f"{advance} - {_share(view)}", "label": f"owed to {name}"})
    raise Missing("what is owed to the one who paid", call)


def _debtors(view: View) -> list[Json]:
    creditor = _owed(view)[0]
    return [card for card in _roommates(view) if card["name"] != creditor]


def roommates() -> list[Act]:
    """Figure 2: contacts at turn 8, names at 9, requests at 15 and 16, Nancy's address needed at 18."""

    def split(view: View) -> Turn:
        people = [str(card["name"]).split()[0] for card in _roommates(view)]
        text = (
            f"My roommates are {', '.join(people[:-1])} and {people[-1]}. With me that makes {len(people) + 1}, so the "
            f"dinner is split {'four' if len(people) == 3 else len(people) + 1} ways. I check what the house rules say."
        )
        return Turn(text, (Call("read_file", {"path": "/notes/house_rules.md"}),))

    def open_dinner(view: View) -> Turn:
        shared = [item for item in bills(view, status="open") if item["kind"] == "shared_dinner"]
        text = f"Equal parts, then. I open the bill of {shared[0]['payee']} to see the total and whose cards were used."
        return Turn(text, (Call("show_bill", {"bill_id": shared[0]["bill_id"]}),))

    def earlier(view: View) -> Turn:
        calls = (Call("show_transactions", {"page": 1}), Call("list_payment_requests", {}))
        return Turn("Before I ask anybody for money, I look whether somebody has settled or been asked already.", calls)

    def share(view: View) -> Turn:
        expression = f"{_dinner(view)['total']} / {len(_roommates(view)) + 1}"
        return Turn(
            "Nobody has paid me yet and nobody has been asked. I work out the equal share.",
            (Call("calculator", {"expression": expression, "label": "share of each"}),),
        )

    def owed(view: View) -> Turn:
        name, advance = _creditor(view)
        expression = f"{advance} - {_share(view)}"
        text = f"{name.split()[0]} paid more than one share on the evening; I compute the difference to give back."
        return Turn(text, (Call("calculator", {"expression": expression, "label": f"owed to {name}"}),))

    def ask(number: int) -> Act:
        def act(view: View) -> Turn:
            card = _debtors(view)[number]
            arguments = {"receiver_email": card["email"], "amount": _share(view), "note": "Dinner on 12 March"}
            text = f"{str(card['name']).split()[0]} paid nothing on the evening, so I send a request for one share."
            return Turn(text, (Call("create_payment_request", arguments),))

        return act

    def how_to_send(view: View) -> Turn:
        search = Call("search_api_docs", {"query": "send payment money wallet balance email", "limit": 12})
        calls = (search, Call("show_api_doc", {"api_name": "send_payment"}))
        return Turn("Both requests are out. I look up how money is sent from the wallet.", calls)

    def give_back(view: View) -> Turn:
        name, amount = _owed(view)
        card = contact(view, name)
        arguments = {"receiver_email": card["email"], "amount": amount, "note": "Dinner on 12 March"}
        return Turn(
            f"Now {name.split()[0]} gets back what was paid above the share.", (Call("send_payment", arguments),)
        )

    def check_payment(view: View) -> Turn:
        name = _owed(view)[0]
        text = f"The payment to {name.split()[0]} went through. I check how it was booked."
        return Turn(text, (Call("show_transactions", {"query": name}),))

    def deadline(view: View) -> Turn:
        arguments = {
            "title": "Dinner shares due",
            "start": "2026-03-20T18:00:00",
            "end": "2026-03-20T18:30:00",
            "attendees": [card["email"] for card in _debtors(view)],
            "notes": f"{money(_share(view))} dollars each for the dinner on 12 March, please.",
        }
        text = "Friday evening is free, so I put the deadline there and invite the two who owe a share."
        return Turn(text, (Call("create_event", arguments),))

    def tell(view: View) -> Turn:
        name, amount = _owed(view)
        card = contact(view, name)
        text = f"Hi {name.split()[0]}, I sent you {money(amount)} dollars for the dinner on 12 March. Thanks!"
        return Turn(
            f"A short text tells {name.split()[0]} about the money.",
            (Call("send_text", {"phone": card["phone"], "text": text}),),
        )

    def report(view: View) -> Turn:
        name, amount = _owed(view)
        lines = [f"Dinner on 12 March, {_dinner(view)['payee']}, share {money(_share(view))}"]
        for card in _debtors(view):
            lines.append(f"{card['name']} {request_to(view, card['email'])['request_id']} {money(_share(view))}")
        card = contact(view, name)
        lines.append(f"{name} {payment_to(view, card['email'], name)['transaction_id']} {money(amount)}")
        arguments = {"path": DINNER_REPORT, "content": "\n".join(lines) + "\n"}
        return Turn("I write the settlement down, with the ids for later.", (Call("write_file", arguments),))

    return [
        do("I'll start with what the wallet can do.", "search_api_docs", query="payment request", limit=6),
        do("I read how a payment request is made.", "show_api_doc", api_name="create_payment_request"),
        do("I check my own account first.", "show_profile"),
        do("Next, where the bills are.", "search_api_docs", query="bills", limit=4),
        do("I look for the dinner among the open bills.", "list_bills", status="open"),
        do("There is a shared dinner bill. Maybe my notes say who was there.", "list_files", folder="/notes"),
        do("The note on the dinner looks right.", "read_file", path="/notes/dinner_march.md"),
        do("Everybody from the flat: I look up the roommates.", "search_contacts", relationship="roommate"),
        split,
        open_dinner,
        earlier,
        do("Not in the wallet. The minutes of the flat may know of cash.", "read_file", path="/notes/flat_meeting.md"),
        share,
        owed,
        ask(0),
        ask(1),
        how_to_send,
        give_back,
        check_payment,
        do("I check the pending requests.", "list_payment_requests", status="pending"),
        do("The note also asks for a calendar entry.", "search_api_docs", query="calendar event", limit=3),
        do("I look at the week.", "list_events", start="2026-03-16", end="2026-03-22"),
        deadline,
        do("Last, a text message.", "show_api_doc", api_name="send_text"),
        tell,
        report,
        do("I read the file back to be sure.", "read_file", path=DINNER_REPORT),
        finish("The dinner is settled: two requests are out, the difference is paid back, and everything is noted."),
    ]
