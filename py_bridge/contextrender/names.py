"""How the names of a transcript are used: the state behind the default policy's signals (design §8), kept as it grows.

A name is an identifier that stands out of prose, such as `tr_solo` or `C142XYZ`. The result in which a name appears
for the first time in the whole transcript owns it; an assistant message that says an owned name uses its owner. Turns
are model invocations counted from 1, results are numbered 0, 1, … in transcript order.
"""

import re
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_TOKEN = re.compile(r"[A-Za-z0-9_]{6,}")
_MARK = re.compile(r"[A-Z_]")
_ERROR = re.compile(
    r"\b(?:error|exception|traceback|failed|failure|not found|no such|denied|invalid|fatal)\b|returncode>[1-9]"
)
_ERROR_HEAD, _ERROR_TAIL = 2_000, 1_000
HEAT_DECAY = 0.5
"""What a use still counts one invocation later, in `heat`."""
FRESH_DECAY = 0.8
"""What a first use of a name still counts one invocation later, in `fresh`."""
ASKED, OTHERS, ASKED_DECAY, REPEATS_FULL = 0.3, 0.15, 0.15, 2
"""`asked_again`: of the new result; of others, after so many repeats; lost a turn."""
_FRESH_MOST = 3
"""First uses by one message that count."""

_ROW = np.dtype(
    [
        ("turn", np.int64),  # the invocation that made the call
        ("last", np.int64),  # the turn of the last use, else of production
        ("uses", np.int64),  # assistant messages that used it
        ("heat", np.float64),  # sum of decayed uses, as of `warmed`
        ("fresh", np.float64),  # sum of decayed first uses, as of `warmed`
        ("warmed", np.int64),  # the turn that heat and fresh are as of
        ("new", np.int64),  # names it owns
        ("named", np.int64),  # of these, how many were used
        ("reshown", np.int64),  # times that a later result showed one of its names
        ("repeated", np.bool_),  # the same call was made again
        ("again", np.bool_),  # the same call had been made before, with the same text
        ("error", np.bool_),  # its text tells of a failure
        ("tool", np.int64),  # number of its tool
    ]
)
_TOOL_ROW = np.dtype(
    [
        ("results", np.int64),  # results so far
        ("arrivals", np.int64),  # sum over them of the invocations made when each arrived
        ("uses", np.int64),  # uses of them
    ]
)
Rows = npt.NDArray[np.void]


def find_names(text: str) -> dict[str, None]:
    """The distinct names of a text, in order: [A-Za-z0-9_]{6,} with an underscore or an upper-case letter."""
    return {token: None for token in dict.fromkeys(_TOKEN.findall(text)) if _MARK.search(token)}


def tells_error(text: str) -> bool:
    """Whether the beginning or the end of a result tells of a failure."""
    return _ERROR.search((text[:_ERROR_HEAD] + text[-_ERROR_TAIL:]).lower()) is not None


def _with_room(rows: Rows, count: int) -> Rows:
    """`rows` with room for one more than `count`; doubled when full."""
    if count < len(rows):
        return rows
    grown = np.zeros(max(64, 2 * count), rows.dtype)
    grown[:count] = rows[:count]
    return grown


class NameUse:
    """Names of one branch: who owns them and how they are used. A message costs O(its names), a result O(1) memory."""

    def __init__(self) -> None:
        self.turn = 0
        """Invocations made."""
        self.count = 0
        """Results so far."""
        self.repeats = 0
        """Results that say word for word what the same call had said before."""
        self.seen: set[str] = set()
        """Every name that occurred in any message."""
        self.owner: dict[str, int] = {}
        """Name -> the result in which it appeared for the first time in the transcript."""
        self.copy: dict[str, int] = {}
        """Name -> the latest result that is word for word its owner's, of the same call: it owns the name likewise."""
        self.used: set[str] = set()
        """Owned names that an assistant message has used."""
        self.mentioned: set[int] = set()
        """Owners of the names in the results since the latest assistant message."""
        self.mentioned_by_user: dict[int, int] = {}
        """Owner -> how many of its names are in the latest user message."""
        self.used_now: list[int] = []
        """Results that the latest invocation used."""
        self.used_before: list[int] = []
        """Results that the last but one invocation used."""
        self._rows: Rows = np.zeros(0, _ROW)
        self._tools: dict[str, int] = {}
        self._tool_rows: Rows = np.zeros(0, _TOOL_ROW)
        self._latest_of_call: dict[tuple[str, str], int] = {}
        self._text_of_call: dict[tuple[str, str], str] = {}

    def add_assistant(self, turn: int, text: str) -> list[int]:
        """Count an assistant message: its prose and call texts, joined. Returns the results it used, ascending."""
        self.turn = turn
        names = find_names(text)
        first_uses: dict[int, int] = {}
        for name in names:
            for source in (self.owner.get(name), self.copy.get(name)):
                if source is not None:
                    first_uses[source] = first_uses.get(source, 0) + (name not in self.used)
            self.used.add(name)
        rows = self._rows
        for number, first in first_uses.items():
            row = rows[number]
            gap = turn - int(row["warmed"])
            row["heat"] = row["heat"] * HEAT_DECAY**gap + 1
            row["fresh"] = row["fresh"] * FRESH_DECAY**gap + min(first, _FRESH_MOST)
            row["warmed"] = row["last"] = turn
            row["uses"] += 1
            row["named"] += first
            self._tool_rows[row["tool"]]["uses"] += 1
        self.used_before, self.used_now = self.used_now, sorted(first_uses)
        self.mentioned = set()
        self.seen.update(names)
        return list(self.used_now)

    def add_result(self, number: int, text: str, turn: int, tool: str, arguments: str) -> None:
        """Count result `number` (the next one) of the call `tool(arguments)` that invocation `turn` made."""
        if number != self.count:
            raise ValueError(f"result {number} was given, {self.count} is next")
        names = find_names(text)
        rows = self._rows = _with_room(self._rows, number)
        new = [name for name in names if name not in self.seen]
        for name in names:
            source = self.owner.get(name)
            if source is not None:
                self.mentioned.add(source)
                rows[source]["reshown"] += 1
        self.owner.update(dict.fromkeys(new, number))
        self.seen.update(new)
        earlier = self._latest_of_call.get((tool, arguments))
        again = earlier is not None and self._text_of_call[tool, arguments] == text
        shared = [name for name in names if again and earlier in (self.owner.get(name), self.copy.get(name))]
        self.copy.update(dict.fromkeys(shared, number))
        kind = self._tool_number(tool)
        self._tool_rows[kind]["results"] += 1
        self._tool_rows[kind]["arrivals"] += self.turn
        owned, named = len(new) + len(shared), sum(name in self.used for name in shared)
        uses = rows[earlier]["uses"] if again else 0
        error = tells_error(text)
        rows[number] = (turn, turn, uses, 0.0, 0.0, self.turn, owned, named, 0, False, again, error, kind)
        self.count += 1
        self.repeats += again
        if earlier is not None:
            rows[earlier]["repeated"] = True
        self._latest_of_call[tool, arguments] = number
        self._text_of_call[tool, arguments] = text

    def add_user(self, text: str) -> None:
        """Count a user message; it replaces the former one in `mentioned_by_user`."""
        names = find_names(text)
        self.mentioned_by_user = {}
        for name in names:
            source = self.owner.get(name)
            if source is not None:
                self.mentioned_by_user[source] = self.mentioned_by_user.get(source, 0) + 1
        self.seen.update(names)

    def add_other(self, text: str) -> None:
        """Count a system or developer message: its names are seen, and owned by no result."""
        self.seen.update(find_names(text))

    def column(self, name: str) -> npt.NDArray[Any]:
        """By result: turn, last, uses, new, named, reshown, repeated, again or error."""
        values: npt.NDArray[Any] = self._rows[name][: self.count]
        return values

    def warmth(self, name: str, decay: float) -> Array:
        """By result: `heat` or `fresh`, decayed to the present turn."""
        values: Array = self.column(name) * decay ** (self.turn - self.column("warmed")).astype(np.float64)
        return values

    def asked_again(self) -> Array:
        """By result, the least chance that it is used, from calls made again that found nothing new.

        Such a call says that what it had found was needed, and no longer there. Its new result is therefore held for a
        while, and, the more such calls there were, every recent result a little. 0 throughout while there were none.
        """
        age = (self.turn - self.column("turn")).astype(np.float64)
        every = OTHERS * min(1.0, self.repeats / REPEATS_FULL)
        least: Array = np.where(self.column("again"), ASKED, every) * np.exp(-ASKED_DECAY * age)
        return least

    def tool_rate(self) -> Array:
        """By result: how often a result of its tool is used by an invocation, with a cold start of one in ten."""
        tools = self._tool_rows[: len(self._tools)]
        chances = tools["results"] * self.turn - tools["arrivals"]
        rates: Array = ((tools["uses"] + 0.5) / (chances + 5.0))[self.column("tool")]
        return rates

    def _tool_number(self, tool: str) -> int:
        number = self._tools.get(tool)
        if number is None:
            number = self._tools[tool] = len(self._tools)
            self._tool_rows = _with_room(self._tool_rows, number)
        return number
