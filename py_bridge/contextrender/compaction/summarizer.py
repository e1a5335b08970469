"""The seam of everything that shortens: excerpts of a history in, a summary within a budget out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from contextrender.history import Entry
from contextrender.tokens import DEFAULT_ENCODING, count_tokens


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One operation or result as a summarizer reads it. For a call `name` is the tool and `text` the arguments."""

    kind: str
    """`user`, `assistant`, `call` or `result`."""
    text: str
    name: str = ""

    def __str__(self) -> str:
        return f"[{self.kind}{f' {self.name}' if self.name else ''}] {self.text}"


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary and where it comes from.

    tokens: tok(text), at most the budget that was asked for. made_by: `extractive`, `head+tail`, or the model's name.
    failure: why the model's own answer is not what stands here, "" where it is. prompt_tokens, output_tokens: what
    the calls used, 0 when no call was made.
    """

    text: str
    tokens: int
    made_by: str
    failure: str = ""
    prompt_tokens: int = 0
    output_tokens: int = 0


class Summarizer(Protocol):
    """Makes summaries. `name` is what tables and traces call it."""

    @property
    def name(self) -> str: ...

    def summarize(
        self,
        excerpts: Sequence[Excerpt],
        budget: int,
        earlier: str = "",
        keep: Sequence[str] = (),
        guideline: str = "",
    ) -> Summary:
        """A summary of at most `budget` tokens of the excerpts, merged with an `earlier` summary where there is one.

        Every string of `keep` that the summary lost is appended verbatim, as far as the budget goes. A `guideline`
        takes the place of the typed slots: a model is told to follow it, fixed rules know none. Never raises for a
        model's failure: it says so in `failure` and answers without the model.
        """

    def compact(self, call: str, result: str, budget: int) -> Summary:
        """One tool result shortened to at most `budget` tokens (App. A.4); `call` says what it answers.

        When a model fails, the result's head and tail.
        """


def excerpts_of(entries: Iterable[Entry]) -> list[Excerpt]:
    """What the entries say, in order: texts, then calls."""
    found: list[Excerpt] = []
    for entry in entries:
        if entry.role == "tool":
            found.append(Excerpt("result", entry.text, entry.call.tool if entry.call else ""))
        elif entry.text:
            found.append(Excerpt(entry.role, entry.text))
        found += [Excerpt("call", call.arguments, call.tool) for call in entry.calls]
    return found


def head_and_tail(text: str, budget: int, encoding: str = DEFAULT_ENCODING) -> str:
    """The first two thirds and the last third of what `budget` tokens hold, with a line between that says so."""
    total = count_tokens(text, encoding)
    if total <= budget:
        return text
    note = f"\n[… the middle of this result is left out; it has {total:,} tokens in all …]\n"
    room = budget - count_tokens(note, encoding)
    size = max(0, len(text) * room // total)
    while size > 0:
        cut = text[: size * 2 // 3] + note + text[len(text) - size // 3 :]
        if (tokens := count_tokens(cut, encoding)) <= budget:
            return cut
        size = min(size - 1, size * budget // tokens)
    return ""
