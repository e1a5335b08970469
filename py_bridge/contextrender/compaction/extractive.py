"""A summarizer without a model: fixed rules pick lines and identifiers into the same typed slots.

The stand-in for a model in offline evaluation, named `extractive` in every table. The same input gives the same text.
"""

import re
from collections.abc import Sequence

from contextrender.compaction.slots import SLOTS, fitted
from contextrender.compaction.summarizer import Excerpt, Summary, head_and_tail
from contextrender.names import find_names
from contextrender.tokens import DEFAULT_ENCODING, count_tokens

_PATH = re.compile(r"(?:/[\w.+-]+){2,}|\b[\w+-]+(?:/[\w.+-]+)*\.[A-Za-z]{1,5}\b")
_ERROR = re.compile(r"error|exception|failed|failure|not found|denied|traceback|invalid", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_TELLING = re.compile(r"\d|[A-Za-z0-9]_[A-Za-z0-9]|[a-z][A-Z]|[=@]")
_LINE_CHARS = 240
_LINES_A_RESULT = 6


def _line(text: str) -> str:
    return " ".join(text.split())[:_LINE_CHARS]


def _telling_lines(text: str) -> list[str]:
    """The few lines of a result that hold errors, names or numbers, in their order; else its first line."""
    lines = [line for line in (_line(part) for part in text.splitlines()) if line]
    weight = {i: 10 * bool(_ERROR.search(line)) + len(find_names(line)) for i, line in enumerate(lines)}
    ranked = sorted((i for i in weight if weight[i] or _TELLING.search(lines[i])), key=lambda i: (-weight[i], i))
    return [lines[i] for i in sorted(ranked[:_LINES_A_RESULT])] or lines[:1]


def _slots(excerpts: Sequence[Excerpt]) -> dict[str, list[str]]:
    slots: dict[str, list[str]] = {name: [] for name in SLOTS}
    for excerpt in excerpts:
        match excerpt.kind:
            case "call":
                slots["commands_run"].append(_line(f"{excerpt.name}({excerpt.text})"))
                slots["files_read"] += _PATH.findall(excerpt.text)
            case "result":
                slots["key_observations"] += _telling_lines(excerpt.text)
            case _:
                for sentence in filter(None, map(_line, _SENTENCE.split(excerpt.text))):
                    if sentence.endswith("?"):
                        slots["unresolved_questions"].append(sentence)
                    elif excerpt.kind == "assistant":
                        slots["decisions"].append(sentence)
                        break
    return {name: list(dict.fromkeys(items)) for name, items in slots.items()}


def _read_back(text: str) -> dict[str, list[str]]:
    """The slots of an earlier summary of ours; lines of another shape count as observations."""
    slots: dict[str, list[str]] = {name: [] for name in SLOTS}
    names = {f"{heading}:": name for name, heading in SLOTS.items()}
    current = "key_observations"
    for line in text.splitlines():
        if line in names:
            current = names[line]
        elif line:
            slots[current].append(line.removeprefix("- "))
    return slots


class Extractive:
    """Deterministic, offline."""

    name = "extractive"

    def __init__(self, encoding: str = DEFAULT_ENCODING) -> None:
        self._encoding = encoding

    def summarize(
        self,
        excerpts: Sequence[Excerpt],
        budget: int,
        earlier: str = "",
        keep: Sequence[str] = (),
        guideline: str = "",
    ) -> Summary:
        """The newest items that fit, slot by slot; an earlier summary's items count as older. No guideline is read."""
        before, fresh = _read_back(earlier), _slots(excerpts)
        slots = {name: list(dict.fromkeys([*before[name], *fresh[name]])) for name in SLOTS}
        return self._summary(fitted(slots, keep, budget, self._encoding))

    def compact(self, call: str, result: str, budget: int) -> Summary:
        """Head and tail: no rule knows what the middle of a result is worth."""
        return self._summary(head_and_tail(result, budget, self._encoding))

    def _summary(self, text: str) -> Summary:
        return Summary(text, count_tokens(text, self._encoding), self.name)
