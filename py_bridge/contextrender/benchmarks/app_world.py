"""The project's own app world as a benchmark: a task is done when its goal holds in the world's state."""

from collections.abc import Sequence

from contextrender.benchmarks.task import Environment, Message
from contextrender.world.agent import Act
from contextrender.world.tasks import Task, all_tasks, get_task
from contextrender.world.tools import TOOLS, execute


class _Started:
    def __init__(self, task: Task) -> None:
        self._task = task
        self._state = task.new_state()

    @property
    def first_messages(self) -> list[Message]:
        return self._task.first_messages()

    @property
    def tools(self) -> list[Message]:
        return [tool.definition() for tool in TOOLS.values()]

    def execute(self, name: str, arguments: str) -> str:
        return execute(self._state, name, arguments)

    def finished(self) -> bool:
        return False

    def score(self, answer: str) -> float:
        return float(not self._task.goal_reached(self._state))

    def close(self) -> None:
        pass


class AppWorldInSmall:
    """Eight tasks over contacts, wallet, bills, files, calendar and phone."""

    name = "world"
    metric = "goals reached, %"
    max_turns = 80

    def task_ids(self) -> Sequence[str]:
        return [task.task_id for task in all_tasks()]

    def start(self, task_id: str) -> Environment:
        return _Started(get_task(task_id))

    def program(self, task_id: str) -> Sequence[Act]:
        """The scripted agent's acts."""
        return get_task(task_id).program()
