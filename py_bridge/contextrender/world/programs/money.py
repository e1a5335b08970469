"""Programs that move money: utility bills, a refund, a trip of five."""

from contextrender.world.agent import Act, Turn
from contextrender.world.programs.facts import (
    asked,
    bill,
    bills,
    contact,
    content,
    do,
    finish,
    money,
    payment_to,
    request_to,
    result,
    with_top_up,
)
from contextrender.world.view import Call, Json, Missing, View

ME = "Jordan Avery"
BILLS_REPORT = "/reports/bills_march.txt"
DISPUTES = "/notes/disputes.md"
TRIP_REPORT = "/trip/settlement.txt"
CONCERT = "Concert ticket, Harbor Hall"


# Utility bills


def utilities() -> list[Act]:
    """Pays what is due by its reference; the balance runs out on the way; references are needed again at the end."""

    def due(view: View) -> list[Json]:
        return bills(view, kind="utility", due_before="2026-03-31")

    def open_bill(number: int) -> Act:
        def act(view: View) -> Turn | None:
            if number >= len(due(view)):
                return None
            item = due(view)[number]
            return Turn(f"I open the bill of {item['payee']}.", (Call("show_bill", {"bill_id": item["bill_id"]}),))

        return act

    def pay(number: int) -> Act:
        def act(view: View) -> Turn | None:
            if number >= len(due(view)):
                return None
            full = bill(view, due(view)[number]["bill_id"])
            arguments = {key: full[key] for key in ("bill_id", "reference")} | {"amount": full["total"]}
            return Turn(f"I pay {full['payee']} by its reference.", (Call("pay_bill", arguments),))

        return act

    def report(view: View) -> Turn:
        lines = []
        for item in due(view):
            paid = payment_to(view, item["payee_email"], item["payee"])
            lines.append(f"{item['bill_id']} {bill(view, item['bill_id'])['reference']} {paid['transaction_id']}")
        arguments = {"path": BILLS_REPORT, "content": "\n".join(lines) + "\n"}
        return Turn("Now the report with bill, reference and transaction.", (Call("write_file", arguments),))

    return [
        do("I'll see which APIs deal with bills.", "search_api_docs", query="bill bills payment", limit=8),
        do("These are due this month.", "list_bills", kind="utility", due_before="2026-03-31"),
        do("How is a bill paid?", "show_api_doc", api_name="pay_bill"),
        *(open_bill(number) for number in range(4)),
        do("I check the balance.", "show_profile"),
        do("And what was paid lately, so that nothing is paid twice.", "show_transactions", direction="sent"),
        do("One page further back.", "show_transactions", direction="sent", page=2),
        *(act for number in range(4) for act in with_top_up(pay(number))),
        do("I check which bills are still open.", "list_bills", status="open"),
        do("And how the payments were booked.", "show_transactions", since="2026-03-14"),
        do("How are files written?", "show_api_doc", api_name="write_file"),
        report,
        do("I read it back.", "read_file", path=BILLS_REPORT),
        finish("All utility bills due in March are paid, and the report lists them."),
    ]


# A refund


def refund() -> list[Act]:
    """Finds a payment made twice among pages of transactions, asks for it back; an early file is needed late."""

    def friend(view: View) -> str:
        return asked(view, r"paid (\w+ \w+) twice")[0]

    def tickets(view: View) -> list[Json]:
        seen = {
            record["transaction_id"]: record
            for record in view.find_all(("transaction_id", "at"), counterparty=friend(view), note=CONCERT)
        }
        if len(seen) < 2:
            raise Missing("both payments for the ticket", Call("show_transactions", {"query": friend(view)}))
        return sorted(seen.values(), key=lambda record: str(record["at"]))

    def find_friend(view: View) -> Turn:
        return Turn(f"I look up {friend(view)}.", (Call("search_contacts", {"query": friend(view)}),))

    def read_page(number: int) -> Act:
        def act(view: View) -> Turn | None:
            filters = {"direction": "sent", "query": "", "since": ""}
            first = Call("show_transactions", {"direction": "sent", "page": 1})
            pages = view.need(first, ("total_pages",), filters=filters)["total_pages"]
            if number > pages:
                return None
            call = Call("show_transactions", {"direction": "sent", "page": number})
            return Turn(f"Further back: page {number} of {pages}.", (call,))

        return act

    def open_ticket(number: int) -> Act:
        def act(view: View) -> Turn:
            item = tickets(view)[number]
            text = f"{'The first' if number == 0 else 'The second'} payment for the ticket was on {item['at'][:10]}."
            return Turn(text, (Call("show_transaction", {"transaction_id": item["transaction_id"]}),))

        return act

    def ask(view: View) -> Turn:
        second = tickets(view)[1]
        arguments = {
            "receiver_email": contact(view, friend(view))["email"],
            "amount": second["amount"],
            "note": f"Ticket paid twice, second payment {second['transaction_id']}",
        }
        return Turn(
            "Same ticket, same amount, a day apart. I ask for it back.", (Call("create_payment_request", arguments),)
        )

    def log(view: View) -> Turn:
        request = request_to(view, contact(view, friend(view))["email"])
        line = f"2026-03-14 open    {friend(view)}: {request['request_id']} for {tickets(view)[1]['transaction_id']}\n"
        arguments = {"path": DISPUTES, "content": content(view, DISPUTES) + line, "overwrite": True}
        return Turn("I add a line to the log and keep what is there.", (Call("write_file", arguments),))

    return [
        do("I'll look at my notes first.", "list_files", folder="/notes"),
        do("There is a log of disputes; the new entry goes there.", "read_file", path=DISPUTES),
        find_friend,
        do("What can be searched?", "search_api_docs", query="transactions payment request", limit=8),
        do("I go through what I sent.", "show_transactions", direction="sent", page=1),
        *(read_page(number) for number in range(2, 6)),
        open_ticket(0),
        open_ticket(1),
        do("How can money be asked back?", "show_api_doc", api_name="create_payment_request"),
        do("Has it been asked for already?", "list_payment_requests"),
        do("Or has it come back?", "show_transactions", direction="received"),
        ask,
        do("I check the request.", "list_payment_requests", status="pending"),
        do("How does writing over a file work?", "show_api_doc", api_name="write_file"),
        log,
        do("I read the log back.", "read_file", path=DISPUTES),
        finish("The second payment has been asked back and the dispute is in the log."),
    ]


# A trip


def trip() -> list[Act]:
    """Settles a ledger of five people; ledger, trip code and addresses are read early and used to the end."""
    ledger, readme = "/trip/ledger.csv", "/trip/readme.md"

    def group(view: View) -> list[str]:
        line = next(line for line in content(view, readme).splitlines() if line.startswith("Group of five: "))
        return [name for name in line.removeprefix("Group of five: ").rstrip(".").split(", ") if name != ME]

    def code(view: View) -> str:
        return content(view, readme).split("the trip code ")[1].split(".")[0]

    def expression(view: View, name: str) -> str:
        rows = [row.split(",") for row in content(view, ledger).splitlines()[1:]]
        paid = " + ".join(row[3] for row in rows if row[1] == name) or "0"
        return f"{paid} - ({' + '.join(row[3] for row in rows)}) / 5"

    def balance(view: View, name: str) -> float:
        """What a person paid minus the own share."""
        return result(view, f"balance of {name}", lambda: expression(view, name))

    def look_up(number: int) -> Act:
        def act(view: View) -> Turn:
            name = group(view)[number]
            return Turn(f"I look up {name}.", (Call("search_contacts", {"query": name}),))

        return act

    def compute(number: int) -> Act:
        def act(view: View) -> Turn:
            name = group(view)[number]
            call = Call("calculator", {"expression": expression(view, name), "label": f"balance of {name}"})
            return Turn(f"What {name} paid, minus a fifth of everything:", (call,))

        return act

    def settle(number: int) -> Act:
        def act(view: View) -> Turn | None:
            name = group(view)[number]
            amount = balance(view, name)
            if amount == 0:
                return None
            arguments = {"receiver_email": contact(view, name)["email"], "amount": abs(amount), "note": code(view)}
            if amount > 0:
                return Turn(f"{name} is above the own share and gets money.", (Call("send_payment", arguments),))
            return Turn(f"{name} is below the own share and is asked.", (Call("create_payment_request", arguments),))

        return act

    def report(view: View) -> Turn:
        lines = [f"Settlement {code(view)}"]
        for name in group(view):
            amount, email = balance(view, name), contact(view, name)["email"]
            proof = ""
            if amount < 0:
                proof = str(request_to(view, email)["request_id"])
            elif amount > 0:
                paid = view.need(
                    Call("show_transactions", {"query": code(view)}),
                    ("transaction_id", "amount"),
                    counterparty_email=email,
                    note=code(view),
                )
                proof = str(paid["transaction_id"])
            lines.append(f"{name} {money(amount)} {proof}".rstrip())
        arguments = {"path": TRIP_REPORT, "content": "\n".join(lines) + "\n"}
        return Turn("Everybody is settled; I write it down.", (Call("write_file", arguments),))

    def booked(view: View) -> Turn:
        return Turn("I check how the payments were booked.", (Call("show_transactions", {"query": code(view)}),))

    return [
        do("I'll look at the trip folder.", "list_files", folder="/trip"),
        do("The readme first.", "read_file", path=readme),
        do("Now the ledger.", "read_file", path=ledger),
        *(look_up(number) for number in range(4)),
        do("What can the wallet do?", "search_api_docs", query="wallet payment request send", limit=10),
        do("Has anything of this been settled before?", "show_transactions"),
        do("One page further back.", "show_transactions", page=2),
        do("And the requests?", "list_payment_requests"),
        *(compute(number) for number in range(4)),
        do("How are requests made?", "show_api_doc", api_name="create_payment_request"),
        do("How are payments made?", "show_api_doc", api_name="send_payment"),
        *(act for number in range(4) for act in with_top_up(settle(number))),
        do("I check what is pending.", "list_payment_requests", status="pending"),
        booked,
        report,
        do("I read it back.", "read_file", path=TRIP_REPORT),
        finish("The trip is settled with everybody and noted in the trip folder."),
    ]
