"""Programs that compare notes with the apps: receipts, subscriptions."""

import re

from contextrender.world.agent import Act, Turn
from contextrender.world.programs.facts import (
    bill,
    bills,
    content,
    do,
    finish,
    money,
    result,
    transactions,
)
from contextrender.world.view import Call, Json, View

RECEIPTS_REPORT = "/reports/receipts_march.txt"
SUBSCRIPTIONS_REPORT = "/reports/subscriptions.txt"
SINCE = "2026-03-01"


def receipts() -> list[Act]:
    """Compares six receipts, read one by one, with the transactions of the month; all are needed at the end."""

    def paths(view: View) -> list[str]:
        files = view.need(Call("list_files", {"folder": "/receipts"}), ("files",), folder="/receipts")["files"]
        return [file["path"] for file in files]

    def receipt(view: View, path: str) -> tuple[str, str, str, float]:
        """Number, day, shop and total of a receipt."""
        text = content(view, path)
        number, day, shop, total = (
            re.findall(rf"^{key}: (.*)$", text, re.MULTILINE)[0] for key in ("Receipt no", "Date", "Merchant", "Total")
        )
        return number, day, shop, float(total)

    def pages(view: View) -> int:
        """How many pages of transactions the month has."""
        filters = {"direction": "", "query": "", "since": SINCE}
        call = Call("show_transactions", {"page": 1, "since": SINCE})
        return int(view.need(call, ("total_pages",), filters=filters)["total_pages"])

    def read_page(number: int) -> Act:
        def act(view: View) -> Turn | None:
            if number > pages(view):
                return None
            call = Call("show_transactions", {"page": number, "since": SINCE})
            return Turn(f"And page {number} of {pages(view)}.", (call,))

        return act

    def read(number: int) -> Act:
        def act(view: View) -> Turn | None:
            found = paths(view)[2 * number : 2 * number + 2]
            calls = tuple(Call("read_file", {"path": path}) for path in found)
            return Turn("I read the next two receipts.", calls) if calls else None

        return act

    def total(view: View) -> Turn:
        expression = " + ".join(money(receipt(view, path)[3]) for path in paths(view))
        arguments = {"expression": expression, "label": "sum of receipts"}
        return Turn("I add the receipts up.", (Call("calculator", arguments),))

    def report(view: View) -> Turn:
        booked = [item for page in range(1, pages(view) + 1) for item in transactions(view, page, since=SINCE)]
        lines = []
        for path in paths(view):
            number, day, shop, amount = receipt(view, path)
            match = [item for item in booked if item["counterparty"] == shop and item["at"][:10] == day]
            if not match:
                lines.append(f"{number} no transaction")
            elif match[0]["amount"] == amount:
                lines.append(f"{number} {match[0]['transaction_id']} ok")
            else:
                lines.append(f"{number} {match[0]['transaction_id']} differs by {money(match[0]['amount'] - amount)}")
        expression = " + ".join(money(receipt(view, path)[3]) for path in paths(view))
        lines.append(f"sum {money(result(view, 'sum of receipts', lambda: expression))}")
        arguments = {"path": RECEIPTS_REPORT, "content": "\n".join(lines) + "\n"}
        return Turn("One line a receipt, with the transaction it belongs to.", (Call("write_file", arguments),))

    return [
        do("I'll see how files are read.", "search_api_docs", query="files read list", limit=5),
        do("Here are the receipts.", "list_files", folder="/receipts"),
        *(read(number) for number in range(3)),
        do("Now the other side: what can I ask for?", "show_api_doc", api_name="show_transactions"),
        do("The transactions of March, page 1.", "show_transactions", since=SINCE, page=1),
        read_page(2),
        read_page(3),
        total,
        do("Returned goods would show as money received.", "show_transactions", direction="received"),
        do("Maybe the house rules say something about receipts.", "read_file", path="/notes/house_rules.md"),
        do("Is one of the shops a bill as well?", "list_bills", status="open"),
        do("How is a report written?", "show_api_doc", api_name="write_file"),
        report,
        do("I read it back.", "read_file", path=RECEIPTS_REPORT),
        finish("Every receipt is compared with the transactions; the report names the two that do not fit."),
    ]


def subscriptions() -> list[Act]:
    """Ends what the note does not keep; the note of the first turns decides each of the later ones."""
    note = "/notes/subscriptions.md"

    def listed(view: View) -> list[Json]:
        return bills(view, kind="subscription")

    def ending(view: View) -> list[Json]:
        keep = re.findall(r"^- keep: (.*)$", content(view, note), re.MULTILINE)
        return [item for item in listed(view) if item["payee"] not in keep]

    def open_bill(number: int) -> Act:
        def act(view: View) -> Turn | None:
            if number >= len(listed(view)):
                return None
            item = listed(view)[number]
            return Turn(f"I look at {item['payee']}.", (Call("show_bill", {"bill_id": item["bill_id"]}),))

        return act

    def end(number: int) -> Act:
        def act(view: View) -> Turn | None:
            if number >= len(ending(view)):
                return None
            item = ending(view)[number]
            call = Call("set_autopay", {"bill_id": item["bill_id"], "enabled": False})
            return Turn(f"{item['payee']} is not on the list of what is kept, so it ends.", (call,))

        return act

    def expression(view: View) -> str:
        return f"12 * ({' + '.join(money(item['total']) for item in ending(view))})"

    def saving(view: View) -> Turn:
        arguments = {"expression": expression(view), "label": "saved a year"}
        return Turn("What that saves in a year:", (Call("calculator", arguments),))

    def last_paid(number: int) -> Act:
        def act(view: View) -> Turn | None:
            if number >= len(ending(view)):
                return None
            name = ending(view)[number]["payee"]
            return Turn(f"Was {name} paid from the wallet?", (Call("show_transactions", {"query": name}),))

        return act

    def report(view: View) -> Turn:
        lines = [f"{item['bill_id']} {bill(view, item['bill_id'])['reference']} ended" for item in ending(view)]
        lines.append(f"saved a year: {money(result(view, 'saved a year', lambda: expression(view)))}")
        arguments = {"path": SUBSCRIPTIONS_REPORT, "content": "\n".join(lines) + "\n"}
        return Turn("The report, with bill ids and contract references.", (Call("write_file", arguments),))

    return [
        do("I'll read the review.", "read_file", path=note),
        do("These are the subscriptions.", "list_bills", kind="subscription"),
        *(open_bill(number) for number in range(6)),
        do("How does a subscription end?", "search_api_docs", query="subscription automatic payment bill", limit=8),
        do("I read the details.", "show_api_doc", api_name="set_autopay"),
        *(last_paid(number) for number in range(3)),
        do("What went out lately?", "show_transactions", direction="sent"),
        *(end(number) for number in range(3)),
        saving,
        do("I check the settings of all bills.", "list_bills"),
        do("How are files written?", "show_api_doc", api_name="write_file"),
        report,
        do("I read it back.", "read_file", path=SUBSCRIPTIONS_REPORT),
        finish("The subscriptions that were not used are ended, and the report says what that saves."),
    ]
