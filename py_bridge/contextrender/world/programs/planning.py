"""Programs around the calendar: a dinner date, a birthday gift."""

import re

from contextrender.world.agent import Act, Turn
from contextrender.world.programs.facts import (
    asked,
    contact,
    content,
    do,
    finish,
    money,
    request_to,
    with_top_up,
)
from contextrender.world.view import Call, Json, Missing, View

PLAN = "/notes/dinner_plan.md"
GIFT_REPORT = "/reports/gift.txt"


def schedule() -> list[Act]:
    """Finds an evening for three, invites two by addresses and texts two by numbers that were looked up early."""

    def guests(view: View) -> tuple[str, ...]:
        return asked(view, r"dinner with (\w+ \w+) and (\w+ \w+)")

    def week(view: View) -> list[Json]:
        call = Call("list_events", {"start": "2026-03-15", "end": "2026-03-22"})
        events: list[Json] = view.need(call, ("events",), start="2026-03-15", end="2026-03-22")["events"]
        return events

    def evening(view: View) -> str:
        """The day of the dinner if it is made; else the first on which both are free and my 19:00 to 21:00 is empty."""
        for event in week(view):
            if event["title"].startswith("Dinner at "):
                return str(event["start"][:10])
        text = content(view, "/notes/availability.md")
        free = [set(re.findall(rf"^{name}: (.*)$", text, re.MULTILINE)[0].split(", ")) for name in guests(view)]
        taken = {
            event["start"][:10]
            for event in week(view)
            if event["start"][11:] < "21:00:00" and event["end"][11:] > "19:00:00"
        }
        return str(min(set.intersection(*free) - taken))

    def restaurant(view: View) -> tuple[str, str]:
        """Name and table code of the place that was decided on."""
        text = content(view, "/notes/restaurants.md")
        name = text.split("Decided for the next dinner: ")[1].split(".")[0]
        return name, re.findall(rf"{name}: table code ([\w-]+)", text)[0]

    def look_up(number: int) -> Act:
        def act(view: View) -> Turn:
            name = guests(view)[number]
            return Turn(f"I look up {name}.", (Call("search_contacts", {"query": name}),))

        return act

    def create(view: View) -> Turn:
        name, code = restaurant(view)
        arguments = {
            "title": f"Dinner at {name}",
            "start": f"{evening(view)}T19:00:00",
            "end": f"{evening(view)}T21:00:00",
            "attendees": [contact(view, guest)["email"] for guest in guests(view)],
            "location": name,
            "notes": f"Table code {code}",
        }
        text = f"{evening(view)} is the first evening on which all three of us are free."
        return Turn(text, (Call("create_event", arguments),))

    def tell(number: int) -> Act:
        def act(view: View) -> Turn:
            guest = guests(view)[number]
            text = f"Dinner at {restaurant(view)[0]} on {evening(view)} at 19:00, table code {restaurant(view)[1]}."
            arguments = {"phone": contact(view, guest)["phone"], "text": text}
            return Turn(f"I tell {guest.split()[0]} by text.", (Call("send_text", arguments),))

        return act

    def cancel(view: View) -> Turn:
        event = next(event for event in week(view) if event["title"] == "Dentist check-up")
        text = "The dentist is to be cancelled, as the task says."
        return Turn(text, (Call("delete_event", {"event_id": event["event_id"]}),))

    def plan(view: View) -> Turn:
        name, code = restaurant(view)
        dinner = view.find(("event_id", "attendees"), title=f"Dinner at {name}")
        if dinner is None:
            call = Call("list_events", {"start": evening(view), "end": evening(view)})
            raise Missing("the event of the dinner", call)
        lines = [f"Dinner at {name}, {code}, {dinner['start']}, {dinner['event_id']}"]
        lines += [f"{guest} {contact(view, guest)['phone']}" for guest in guests(view)]
        arguments = {"path": PLAN, "content": "\n".join(lines) + "\n"}
        return Turn("I write the plan down.", (Call("write_file", arguments),))

    def check_event(view: View) -> Turn:
        day = evening(view)
        return Turn("I check the new event.", (Call("list_events", {"start": day, "end": day}),))

    return [
        do("I'll look at the notes.", "list_files", folder="/notes"),
        do("Who is free when?", "read_file", path="/notes/availability.md"),
        look_up(0),
        look_up(1),
        do("Which place?", "read_file", path="/notes/restaurants.md"),
        do("What can the calendar do?", "search_api_docs", query="calendar event events", limit=6),
        do("I read how events are listed.", "show_api_doc", api_name="list_events"),
        do("My own week.", "list_events", start="2026-03-15", end="2026-03-22"),
        do("And what lies after it.", "list_events", start="2026-03-23", end="2026-04-05"),
        do("Is there money for a dinner? What was spent lately?", "show_transactions", direction="sent"),
        do("Which bills are still to come?", "list_bills", status="open"),
        do("How is an event made?", "show_api_doc", api_name="create_event"),
        create,
        check_event,
        do("How are texts sent?", "show_api_doc", api_name="send_text"),
        tell(0),
        tell(1),
        cancel,
        do("I check what was sent.", "list_texts"),
        do("How are files written?", "show_api_doc", api_name="write_file"),
        plan,
        finish("The dinner is in the calendar, both guests know, the dentist is cancelled and the plan is noted."),
    ]


def gift() -> list[Act]:
    """Collects for a gift by a list of pledges, pays the shop and sets a date from a card seen early."""
    pledges_file, order_file = "/notes/gift_pledges.md", "/notes/gift_order.md"

    def person(view: View) -> str:
        return asked(view, r"birthday gift for (\w+ \w+)")[0]

    def pledges(view: View) -> list[tuple[str, float]]:
        found = re.findall(r"^- (\w+ \w+): ([\d.]+)$", content(view, pledges_file), re.MULTILINE)
        return [(name, float(amount)) for name, amount in found]

    def requests(view: View) -> list[Json]:
        """All requests as they were before the collection began."""
        call = Call("list_payment_requests", {})
        found: list[Json] = view.need(call, ("payment_requests",), status="")["payment_requests"]
        return found

    def chase(number: int) -> Act:
        def act(view: View) -> Turn | None:
            name, amount = pledges(view)[number]
            card = contact(view, name)
            asked_before = [
                item
                for item in requests(view)
                if item["receiver_email"] == card["email"] and item["note"] == f"Gift for {person(view)}"
            ]
            if not asked_before:
                arguments = {"receiver_email": card["email"], "amount": amount, "note": f"Gift for {person(view)}"}
                return Turn(f"{name} has not been asked yet.", (Call("create_payment_request", arguments),))
            if asked_before[0]["status"] == "paid":
                return None
            call = Call("remind_payment_request", {"request_id": asked_before[0]["request_id"]})
            return Turn(f"{name} was asked and has not paid.", (call,))

        return act

    def order(view: View) -> tuple[str, str, str, float]:
        """Shop, its address, order number and price."""
        text = content(view, order_file)
        shop, email, number, price = re.findall(
            r"Shop: (.*), wallet (\S+)\nOrder number: (\S+)\nPrice: ([\d.]+)", text
        )[0]
        return shop, email, number, float(price)

    def buy(view: View) -> Turn:
        shop, email, number, price = order(view)
        arguments = {"receiver_email": email, "amount": price, "note": number}
        return Turn(f"I pay {shop}; the order number is the note.", (Call("send_payment", arguments),))

    def birthday(view: View) -> Turn:
        day = f"2026{contact(view, person(view))['birthday'][4:]}"
        arguments = {
            "title": f"Birthday of {person(view)}",
            "start": f"{day}T09:00:00",
            "end": f"{day}T09:30:00",
            "attendees": [contact(view, name)["email"] for name, _ in pledges(view)],
        }
        return Turn("The date is on the card; I invite those who pledged.", (Call("create_event", arguments),))

    def check_shop(view: View) -> Turn:
        return Turn("I check the payment.", (Call("show_transactions", {"query": order(view)[2]}),))

    def report(view: View) -> Turn:
        shop, email, number, _ = order(view)
        paid = view.need(
            Call("show_transactions", {"query": number}), ("transaction_id",), counterparty_email=email, note=number
        )
        note = f"Gift for {person(view)}"
        lines = [f"{shop} {number} {paid['transaction_id']}"]
        for name, amount in pledges(view):
            card = contact(view, name)
            done = [item for item in requests(view) if item["receiver_email"] == card["email"] and item["note"] == note]
            item = done[0] if done else request_to(view, card["email"])
            lines.append(f"{name} {money(amount)} {item['request_id']} {item['status']}")
        arguments = {"path": GIFT_REPORT, "content": "\n".join(lines) + "\n"}
        return Turn("Last, the report.", (Call("write_file", arguments),))

    return [
        do("I'll read the pledges.", "read_file", path=pledges_file),
        do("These people work with me.", "search_contacts", relationship="coworker"),
        do("Who has been asked already?", "list_payment_requests"),
        do("How do requests and reminders work?", "search_api_docs", query="payment request reminds", limit=8),
        do("Did anybody pay outside a request?", "show_transactions", direction="received"),
        do("And what did I pay lately?", "show_transactions", direction="sent"),
        do("I read about reminders.", "show_api_doc", api_name="remind_payment_request"),
        *(chase(number) for number in range(4)),
        do("What did the shop say?", "read_file", path=order_file),
        do("What is in the wallet?", "show_profile"),
        do("How is money sent?", "show_api_doc", api_name="send_payment"),
        *with_top_up(buy),
        check_shop,
        do("How are events made?", "show_api_doc", api_name="create_event"),
        do("What else is going on then?", "list_events", start="2026-03-14", end="2026-06-30"),
        birthday,
        do("I check what is pending.", "list_payment_requests", status="pending"),
        report,
        do("I read it back.", "read_file", path=GIFT_REPORT),
        finish("The gift is paid, everybody has been asked, and the birthday is in the calendar."),
    ]
