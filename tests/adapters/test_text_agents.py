"""AppWorld's ReAct agent and ACON's agent, whose code can't be had here: stand-ins with their names and call order."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from contextrender.adapters import acon, appworld
from contextrender.client import Client
from contextrender.tokens import count_tokens
from contextrender.trace import Message
from tests.server.running import client, served

BUDGET = 1_500
STEPS = 16
PAD = "shipped and paid " * 60


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    data = tmp_path_factory.mktemp("text") / "data"
    with served(data, "--embedder", "hash") as running, client(running, data) as found:
        yield found


def code(step: int) -> str:
    """What the model says: it looks at one order after the other, and at last uses the first one's customer."""
    if step == STEPS - 1:
        return "```python\nrefund('customer_zero7')\n```"
    return f"I look at order {step}.\n```python\nprint(order({step}))\n```"


def output(step: int) -> str:
    customer = "customer_zero7" if step == 0 else f"customer_{step}x"
    return f"Output:\n```\norder_{step} of {customer}: {PAD}\n```"


class ReActAgent:
    """The shape of SimplifiedReActCodeAgent: the instructions with an example, then the run."""

    def __init__(self, task: str) -> None:
        self.world = SimpleNamespace(task_id=task)
        self.messages: list[Message] = [
            {"role": "system", "content": "You solve tasks with code."},
            {"role": "user", "content": "An example: add 1 and 1."},
            {"role": "assistant", "content": "```python\nprint(1 + 1)\n```"},
            {"role": "user", "content": "Output:\n```\n2\n```"},
            {"role": "user", "content": "Now the task: refund the customer of the first order."},
        ]
        self.num_instruction_messages = len(self.messages)

    @property
    def trimmed_messages(self) -> list[Message]:
        return list(self.messages)

    def run(self) -> list[list[Message]]:
        """What the model got at each step."""
        got = []
        for step in range(STEPS):
            got.append(self.trimmed_messages)
            self.messages += [
                {"role": "assistant", "content": code(step), "tool_calls": None},
                {"role": "user", "content": output(step)},
            ]
        return got


class MemoryManager:
    """The shape of ACON's: sessions of plain messages, the system prompt left out on demand."""

    def __init__(self) -> None:
        self.llm_history: list[list[Message]] = [[]]

    def add(self, role: str, text: str) -> None:
        self.llm_history[-1].append({"role": role, "content": text})

    def get_conversation_history(self, exclude_system: bool = True) -> list[Message]:
        found = self.llm_history[-1]
        return found[1:] if exclude_system and found and found[0]["role"] == "system" else list(found)


def unified_run(memory: Any) -> list[list[Message]]:
    """ACON's loop: prompt, history, answer, observation."""
    memory.add("system", "You solve tasks with code.")
    prompt, got = "Task: refund the customer of the first order.", []
    for step in range(STEPS):
        memory.add("user", prompt)
        got.append(memory.get_conversation_history(exclude_system=True))
        memory.add("assistant", code(step))
        prompt = output(step)
    return got


def tokens(messages: list[Message]) -> int:
    return sum(4 + count_tokens(message["content"]) for message in messages)


def assert_managed(got: list[list[Message]], whole: list[Message], lead: int) -> None:
    """Within the budget, whole steps in order, the instructions and the task first, the old result back."""
    for messages in got:
        assert messages[: lead + 1] == whole[: len(messages[: lead + 1])]
        assert tokens(messages[lead:]) <= BUDGET
        body = [message for message in messages[lead:] if message in whole]
        assert [message["role"] for message in body[1:]] == ["assistant", "user"] * ((len(body) - 1) // 2)
        numbers = [whole.index(message) for message in body]
        assert numbers == sorted(numbers)
    assert any(len(messages) < len(whole[: lead + 1 + 2 * step]) for step, messages in enumerate(got))


def test_appworlds_agent_sends_what_is_rendered(server: Client) -> None:
    agent = appworld.with_context(ReActAgent, server, budget=BUDGET)("task_1")
    whole = ReActAgent("none")
    whole.run()
    got = agent.run()
    assert agent.messages == whole.messages, "its own history is whole"
    assert_managed(got, whole.messages, 5 - 1)


def test_acons_agent_sends_what_is_rendered(server: Client) -> None:
    memory = acon.with_context(MemoryManager, server, budget=BUDGET)()
    plain = MemoryManager()
    unified_run(plain)
    got = unified_run(memory)
    assert memory.llm_history == plain.llm_history, "its own history is whole"
    assert_managed(got, plain.llm_history[0][1:], 0)


def test_a_server_that_is_away_changes_nothing(tmp_path: Path) -> None:
    away = Client("http://127.0.0.1:9", "cr_x", timeout=1)
    agent = appworld.with_context(ReActAgent, away, budget=BUDGET)("task_2")
    assert agent.run() == ReActAgent("task_2").run()
