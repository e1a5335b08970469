"""A scripted agent in place of a model: deterministic, and honest about what it can see.

A program is a sequence of acts; an act is a function from the visible messages to the next turn. Between turns the
agent remembers nothing but its place in the program, so every value it writes into a call was read from the messages
of that very invocation. A value that is not visible is looked up again; if the same look-up has been made TRIES times
for one act, or LOOK_UPS of any kind, and a value is still not there, the agent gives up. So a context manager that
drops a needed result makes the run longer, or makes it fail.

    run(task, render, max_turns) -> Run       the whole loop, tools included
    Agent(program).reply(messages)            one invocation, for a server that stands in for a model
"""

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contextrender.world.state import State
from contextrender.world.tools import execute
from contextrender.world.view import Call, ChatMessage, Missing, View

if TYPE_CHECKING:
    from contextrender.world.tasks import Task

TRIES = 2
"""How often the agent makes the same look-up for one act."""
LOOK_UPS = 12
"""How many look-ups it makes for one act in all."""


@dataclass(frozen=True)
class Turn:
    """What an act does: prose and tool calls; no calls ends the run."""

    text: str
    calls: tuple[Call, ...] = ()


type Act = Callable[[View], Turn | None]
"""Decides a turn from what is visible. None: nothing to do here, go on with the next act. May raise Missing."""

type Render = Callable[[list[ChatMessage]], list[ChatMessage]]
"""The history up to now in, what the model gets to see out."""


class Agent:
    """Plays one program. `extra_calls` counts the look-ups that a full history would have saved."""

    def __init__(self, program: Sequence[Act]) -> None:
        self._program = program
        self._position = 0
        self._tried: list[str] = []
        self._calls = 0
        self.extra_calls = 0
        self.gave_up = False

    def reply(self, messages: Sequence[ChatMessage]) -> ChatMessage:
        """The assistant message that follows the visible messages; one without tool calls is the last."""
        view = View(messages)
        while self._position < len(self._program):
            try:
                turn = self._program[self._position](view)
            except Missing as missing:
                return self._message(self._look_up_again(missing))
            except (LookupError, TypeError, ValueError, StopIteration):
                return self._message(self._give_up("what I see of the earlier results does not fit together"))
            self._position += 1
            self._tried.clear()
            if turn is not None:
                return self._message(turn)
        return self._message(Turn("That is everything I was asked to do."))

    def _look_up_again(self, missing: Missing) -> Turn:
        key = json.dumps([missing.call.name, missing.call.arguments], sort_keys=True)
        if self._tried.count(key) == TRIES or len(self._tried) == LOOK_UPS:
            return self._give_up(f"I looked it up again and again and still do not see it ({missing.what})")
        self._tried.append(key)
        self.extra_calls += 1
        return Turn(f"I no longer see this, so I look it up again: {missing.what}.", (missing.call,))

    def _give_up(self, why: str) -> Turn:
        self.gave_up = True
        self._position = len(self._program)
        return Turn(f"I could not go on: {why}.")

    def _message(self, turn: Turn) -> ChatMessage:
        message: ChatMessage = {"role": "assistant", "content": turn.text}
        calls = []
        for call in turn.calls:
            self._calls += 1
            function = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
            calls.append({"id": f"call_{self._calls}", "type": "function", "function": function})
        if calls:
            message["tool_calls"] = calls
        return message


@dataclass(frozen=True)
class Run:
    """A finished run. `messages` is the complete history, whatever was rendered; `goal_unmet` is empty on success."""

    messages: list[ChatMessage]
    state: State
    goal_unmet: list[str]
    turns: int
    extra_calls: int
    gave_up: bool


def full_history(messages: list[ChatMessage]) -> list[ChatMessage]:
    """The render that hides nothing."""
    return messages


def run(task: "Task", render: Render = full_history, max_turns: int = 80) -> Run:
    """Lets the scripted agent work on a task, each invocation on what `render` makes of the history so far.

    `render` gets a copy each time. The run ends with the agent's last message or after `max_turns` invocations.
    """
    state = task.new_state()
    agent = Agent(task.program())
    messages = task.first_messages()
    turns = 0
    while turns < max_turns:
        turns += 1
        message = agent.reply(render(copy.deepcopy(messages)))
        messages.append(message)
        if "tool_calls" not in message:
            break
        messages += answer(state, message)
    return Run(messages, state, task.goal_reached(state), turns, agent.extra_calls, agent.gave_up)


def answer(state: State, message: ChatMessage) -> list[ChatMessage]:
    """Runs the tool calls of an assistant message on the state; one tool message a call, in the order of the calls."""
    return [
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "name": call["function"]["name"],
            "content": execute(state, call["function"]["name"], call["function"]["arguments"]),
        }
        for call in message["tool_calls"]
    ]
