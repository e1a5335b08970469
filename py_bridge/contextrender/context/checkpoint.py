"""The checkpoint note: where the task stands, for what a render leaves out; from the graph, or by a summarizer.

It says nothing that stands elsewhere: not the goal (the first user message is always shown), no fact that a kept note
tells, nothing of results that are shown.
"""

from collections import Counter
from collections.abc import Sequence

from contextrender.compaction.summarizer import Summarizer, excerpts_of
from contextrender.context.observed import paths_changed
from contextrender.history import Entry, History, Shown
from contextrender.tokens import count_tokens

CHECKPOINT_HEADING = "[Where the task stands]"
_VALUES = 8
_ARGUMENT_CHARS = 80
_FILES = 20
_REFS = 12
_SUMMARIZED = 60
"""The latest results that a summarizer is given."""


def checkpoint_text(
    history: History,
    shown: Sequence[Shown],
    told: Sequence[str],
    there: set[str],
    cap: int,
    recall: bool,
    summarizer: Summarizer | None,
    encoding: str,
) -> str:
    """A note of at most `cap` tokens, "" when there is nothing to say.

    told: lines of facts, which come first; there: lines that other notes hold; recall: whether refs may be named.
    """
    complete = {piece.position for piece, _ in shown if not piece.text}
    gone = [entry for entry in history.results if entry.position not in complete]
    reused = _reused(history)
    lines = list(told)
    if gone and summarizer is not None:
        keep = [value for entry in reversed(gone) for value in reused.get(entry.ref, ())]
        room = cap - count_tokens("\n".join((CHECKPOINT_HEADING, *lines)), encoding) - 2
        if room > 0:
            parts = excerpts_of(gone[-_SUMMARIZED:])
            lines += summarizer.summarize(parts, room, keep=keep[:50]).text.split("\n")
    elif gone:
        lines += _from_graph(gone, reused)
    if recall and gone:
        lines.append("Left out, by ref:")
        lines += [f"- ref {entry.ref}: {_call(entry)}" for entry in reversed(gone[-_REFS:])]
    return _fitted([line for line in lines if line not in there or not line.startswith("- ")], cap, encoding)


def _from_graph(gone: Sequence[Entry], reused: dict[str, list[str]]) -> list[str]:
    """Observations that later operations lived on, files touched, what was done; the most telling first."""
    lines: list[str] = []
    observed = [entry for entry in reversed(gone) if entry.ref in reused]
    if observed:
        lines.append("Key observations, the latest first:")
        lines += [f"- {_call(entry)}: {', '.join(reused[entry.ref][-_VALUES:])}" for entry in observed]
    files = paths_changed(entry.call for entry in gone if entry.call is not None)
    if files:
        lines.append("Files touched: " + ", ".join(files[-_FILES:]))
    done = Counter(entry.call.tool if entry.call else "a tool" for entry in gone)
    lines.append("Done before: " + ", ".join(f"{tool} ×{count}" for tool, count in done.most_common()))
    return lines


def _reused(history: History) -> dict[str, list[str]]:
    """By raw ref, the values of a result that later operations used."""
    found: dict[str, list[str]] = {}
    for ref, text in history.value_nodes:
        found.setdefault(ref, []).append(text)
    return found


def _call(entry: Entry) -> str:
    if entry.call is None:
        return "a tool"
    return f"{entry.call.tool} {' '.join(entry.call.arguments.split())[:_ARGUMENT_CHARS]}".rstrip()


def _fitted(lines: Sequence[str], cap: int, encoding: str) -> str:
    """The heading and as many of the first lines as `cap` tokens hold, no heading of a list without an item."""
    kept: list[str] = []
    room = cap - count_tokens(CHECKPOINT_HEADING + "\n", encoding)
    for line in lines:
        cost = count_tokens(line + "\n", encoding) + 1
        if cost <= room:
            room -= cost
            kept.append(line)
    pairs = zip(kept, [*kept[1:], ""], strict=False)
    kept = [line for line, after in pairs if not line.endswith(":") or after.startswith("- ")]
    return "\n".join((CHECKPOINT_HEADING, *kept)) if kept else ""
