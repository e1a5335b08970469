"""The work that every client program does in these tests: read records one by one, and use an old one late.

Each record is a file of about 900 tokens whose first line holds its mark (`RECORD-07`), so that fourteen of them
pass every budget used here, and it can be seen in a request which of them the model was shown.
"""

import random
import re
from collections.abc import Callable, Collection
from pathlib import Path

from tests.clients.model import Step, Use

RECORDS = 14
OLD = 2
"""The record whose order number is needed again at the end."""
FINAL = "Every record is read, and the refund is written."
TASK = "Work through the records of WAREHOUSE-7: read each file in records/, then write the refund. Answer in one line."
KEY = "WAREHOUSE-7"

Shell = Callable[[str], Use]
"""A shell command as a call of the program's own tool."""


def record(number: int) -> str:
    """The text of one record; the same in every run."""
    dice = random.Random(number)
    lines = [f"RECORD-{number:02d} of the warehouse"]
    for row in range(42):
        order, customer = f"ord_{dice.randrange(16**8):08x}", f"cust-{dice.randrange(10**6):06d}"
        lines.append(f"{row:02d} order {order} customer {customer} total {dice.randrange(10**5) / 100:.2f} shipped")
    return "\n".join(lines) + "\n"


def order_of(number: int) -> str:
    """The order number in the middle of a record."""
    found: list[str] = re.findall(r"ord_\w+", record(number))
    return found[len(found) // 2]


def make_workspace(folder: Path) -> Path:
    """A folder with the records in it."""
    records = folder / "records"
    records.mkdir(parents=True)
    for number in range(1, RECORDS + 1):
        (records / f"{number:02d}.txt").write_text(record(number))
    return folder


def read_record(shell: Shell, number: int) -> Step:
    """The step that reads one record."""
    return Step(f"I read record {number} now.", (shell(f"cat records/{number:02d}.txt"),))


def script(shell: Shell, records: Collection[int] = range(1, RECORDS + 1), final: str = FINAL) -> list[Step]:
    """Read the records, write a refund for the order of an old one, read it back, answer."""
    refund = f"echo refunded {order_of(OLD)} > refund.txt && cat refund.txt"
    return [
        *(read_record(shell, number) for number in records),
        Step("", (shell(refund),)),
        Step("", (shell("wc -c refund.txt"),)),
        Step(final),
    ]


def marks(text: str) -> set[int]:
    """The records that a text shows."""
    return {int(number) for number in re.findall(r"RECORD-(\d\d) of the warehouse", text)}
