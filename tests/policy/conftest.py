"""Histories for the policy's tests, filled as the core fills them: one token a word, no graph."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from contextrender.history import CallEntry, Entry, History, Shown
from contextrender.legality import violations
from contextrender.names import Array

Message = dict[str, Any]


def _tokens(text: str) -> int:
    return 4 + len(text.split())


class Script:
    """Writes a conversation into a History, message by message, and keeps it as chat messages too."""

    def __init__(self) -> None:
        self.history = History()
        self.messages: list[Message] = []
        self._calls: list[CallEntry] = []

    def _add(
        self, role: str, text: str, turn: int, call: CallEntry | None = None, arguments: Sequence[str] = ()
    ) -> None:
        history = self.history
        position = len(history)
        number = len(history.results) if role == "tool" else -1
        calls = [CallEntry(position, i, _tokens(item) + 1, "look", item) for i, item in enumerate(arguments)]
        entry = Entry(position, role, turn, _tokens(text), text, None, b"", f"r{number}", number, calls)
        history.append(entry, [f"{position}.{call.index}" for call in calls], call)
        self.messages.append(self.message(entry, tuple(range(len(calls))), True))
        self._calls.extend(calls)

    def system(self, text: str) -> None:
        """A system message."""
        self._add("system", text, self.history.turn)

    def user(self, text: str) -> None:
        """A user message."""
        self._add("user", text, self.history.turn)

    def assistant(self, text: str, *arguments: str) -> None:
        """An assistant message with a call of `look` for each of the arguments."""
        self._calls = []
        self._add("assistant", text, self.history.turn + 1, arguments=[json.dumps({"q": item}) for item in arguments])

    def result(self, text: str) -> None:
        """The result of the oldest open call of the latest assistant message."""
        call = self._calls.pop(0)
        self._add("tool", text, self.history.entries[call.position].turn, call)

    def step(self, argument: str, text: str, prose: str = "") -> None:
        """One call and its result."""
        self.assistant(prose, argument)
        self.result(text)

    @staticmethod
    def message(entry: Entry, calls: Sequence[int], prose: bool) -> Message:
        """The chat message of an entry."""
        message: Message = {"role": entry.role, "content": entry.text if prose else ""}
        if entry.call is not None:
            message["tool_call_id"] = f"{entry.call.position}.{entry.call.index}"
        if calls:
            message["tool_calls"] = [
                {
                    "id": f"{entry.position}.{index}",
                    "type": "function",
                    "function": {"name": "look", "arguments": entry.calls[index].arguments},
                }
                for index in calls
            ]
        return message

    def rendered(self, shown: Sequence[Shown]) -> list[Message]:
        """The chat messages of pieces; a note is a user message."""
        entries = self.history.entries
        return [
            {"role": "user", "content": f"[note]\n{entries[piece.position].text}"}
            if piece.note
            else self.message(entries[piece.position], piece.calls, piece.prose)
            for piece, _ in shown
        ]

    def complaints(self, shown: Sequence[Shown]) -> list[str]:
        """What is illegal in a render; [] when nothing is."""
        return violations(self.messages, self.rendered(shown))


def chances(history: History, seed: int = 0) -> Array:
    """A made-up usefulness for each result, mostly low."""
    values: Array = np.random.default_rng(seed).random(len(history.results)) ** 4
    return values


NAMES = ["order_17", "C142XYZ", "tr_solo", "Invoice9", "user_ann"]
_WORD = st.sampled_from([*NAMES, "plain", "words", "not found"])
TEXT = st.lists(_WORD, max_size=6).map(" ".join)
RESULT = st.tuples(TEXT, st.integers(0, 60)).map(lambda pair: pair[0] + " fill" * pair[1])

Action = Callable[[Script], None]


@st.composite
def turns(draw: st.DrawFn, least: int = 0, most: int = 14) -> list[list[Action]]:
    """A legal conversation as lists of actions, one list for what comes before each model invocation."""
    before: list[Action] = []
    if draw(st.booleans()):
        system = draw(TEXT)
        before.append(lambda script: script.system(system))
    first = draw(TEXT)
    before.append(lambda script: script.user(first))
    found = [before]
    for turn in range(draw(st.integers(least, most))):
        arguments = draw(st.lists(_WORD, max_size=3))
        prose = draw(TEXT) + ("" if arguments else f" said {turn}")
        texts = [draw(RESULT) for _ in arguments]
        follows = draw(TEXT) + f" {turn}" if not arguments or draw(st.integers(0, 5)) == 0 else None

        def act(
            script: Script,
            prose: str = prose,
            arguments: list[str] = arguments,
            texts: list[str] = texts,
            follows: str | None = follows,
        ) -> None:
            script.assistant(prose, *arguments)
            for text in texts:
                script.result(text)
            if follows is not None:
                script.user(follows)

        found.append([act])
    return found


def written(conversation: Sequence[Sequence[Action]]) -> Script:
    """The whole conversation."""
    script = Script()
    for actions in conversation:
        for action in actions:
            action(script)
    return script
