"""What a benchmark is made of. The prompts, tools and scores are the benchmark's; no method may change them."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from contextrender.world.agent import Act

Message = dict[str, Any]


class Environment(Protocol):
    """One task, started: it changes as the agent acts."""

    @property
    def first_messages(self) -> list[Message]:
        """The system prompt and the user's request, in chat-completions form."""

    @property
    def tools(self) -> list[Message]:
        """Tool definitions, in chat-completions form."""

    def execute(self, name: str, arguments: str) -> str:
        """Run one tool call (arguments as the model wrote them); returns the result's text, errors included."""

    def finished(self) -> bool:
        """Whether the task has ended by a tool call; one without such a call ends when the agent answers in prose."""

    def score(self, answer: str) -> float:
        """From 0 to 1, given the agent's last text."""

    def close(self) -> None:
        """Give back what the task holds."""


class Benchmark(Protocol):
    """A named set of tasks. `metric` says what the mean score is, in percent."""

    name: str
    metric: str
    max_turns: int

    def task_ids(self) -> Sequence[str]:
        """In the order they are run."""

    def start(self, task_id: str) -> Environment:
        """A fresh environment."""


@runtime_checkable
class Scripted(Protocol):
    """A benchmark whose tasks a scripted agent can do."""

    def program(self, task_id: str) -> Sequence[Act]:
        """What the scripted agent does (contextrender.world.agent)."""

