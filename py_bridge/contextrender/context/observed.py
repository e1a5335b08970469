"""What the transcript itself shows of the task's state: errors, retries, files changed, confirmations."""

import re
from collections.abc import Iterable, Sequence

from contextrender.context.facts import Fact
from contextrender.history import CallEntry, Entry, History

_HEAD_CHARS = 400
_ERROR = re.compile(
    r"\berror\b|\bexception\b|traceback \(most|\bfailed\b|command not found|no such file|"
    r"permission denied|\bnot found\b",
    re.IGNORECASE,
)
_WRITES = re.compile(
    r"write|edit|create|patch|replace|insert|append|delete|remove|rename|sed -i|\bmv |\bcp |\brm |\btee |>>? ?[\w./-]",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:/[\w.+-]+){2,}|\b[\w+-]+(?:/[\w.+-]+)*\.[A-Za-z]{1,5}\b")
_YES = re.compile(
    r"^\W*(yes|yep|sure|ok|okay|please do|go ahead|confirm\w*|approve\w*|proceed|no|don't|stop)\b", re.IGNORECASE
)

REPEATED_ERRORS = 3
MANY_FILES = 5
_RETRY_CALLS = 8

TOLD_EVENTS = {
    "retry": "a retry begins",
    "interruption": "an interruption is handled",
    "approval_resolved": "a confirmation is resolved",
    "plan_step": "the plan enters a new step",
}
"""Kinds of facts that are lifecycle events when they are told."""


def is_error(entry: Entry) -> bool:
    """Whether a tool result looks like a failure: by the words at its beginning."""
    return _ERROR.search(entry.text[:_HEAD_CHARS]) is not None


def paths_changed(calls: Iterable[CallEntry]) -> list[str]:
    """Files that calls which seem to write name, each once, in order."""
    found: dict[str, None] = {}
    for call in calls:
        if _WRITES.search(call.tool) or _WRITES.search(call.arguments):
            found.update(dict.fromkeys(_PATH.findall(call.arguments)))
    return list(found)


def lifecycle_events(history: History, seen: int, told: Sequence[Fact]) -> tuple[str, ...]:
    """What happened since the last render that makes a checkpoint due (design §8), in words.

    seen: how many entries that render had; told: the facts that are new since then.
    """
    kinds = {fact.kind for fact in told}
    found = [text for kind, text in TOLD_EVENTS.items() if kind in kinds]
    fresh = history.entries[seen:]
    if _errors_repeat(history, sum(entry.number >= 0 for entry in fresh)):
        found.append("tool errors repeat")
    calls = [call for entry in fresh for call in entry.calls]
    if any(_is_retry(history, call) for call in calls):
        found.append(TOLD_EVENTS["retry"])
    if calls and paths_changed(calls):
        every = [call for entry in history.assistants for call in entry.calls]
        if len(paths_changed(every)) // MANY_FILES > len(paths_changed(every[: -len(calls)])) // MANY_FILES:
            found.append("many files changed")
    if any(entry.role == "user" and _confirms(history, entry) for entry in fresh):
        found.append(TOLD_EVENTS["approval_resolved"])
    return tuple(dict.fromkeys(found))


def _errors_repeat(history: History, fresh: int) -> bool:
    """Whether a row of errors at the end has just become long enough."""
    streak = 0
    for entry in reversed(history.results):
        if not is_error(entry) or streak >= REPEATED_ERRORS + fresh:
            break
        streak += 1
    return streak >= REPEATED_ERRORS and streak - fresh < REPEATED_ERRORS


def _is_retry(history: History, call: CallEntry) -> bool:
    """Whether one of the latest calls was the same and failed."""
    earlier = [old for old in history.results[-_RETRY_CALLS:] if old.call is not None and old.call is not call]
    return any(
        old.call is not None
        and (old.call.tool, old.call.arguments) == (call.tool, call.arguments)
        and old.position < call.position
        and is_error(old)
        for old in earlier
    )


def _confirms(history: History, user: Entry) -> bool:
    """Whether a user message answers a question with yes or no."""
    before = history.entries[user.position - 1] if user.position else None
    asked = before is not None and before.role == "assistant" and before.text.rstrip().endswith("?")
    return asked and _YES.match(user.text) is not None
