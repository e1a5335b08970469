"""AppWorld (Trivedi et al., 2024): Test-Normal and Test-Challenge, scored by its own task-goal checks (TGC).

Needs the package `appworld` and its data (`appworld install`, `appworld download data`) in the same environment. The
agent acts by one tool, `run_code`; a task ends when its code calls `apis.supervisor.complete_task()`.
"""

import json
from collections.abc import Sequence
from importlib import import_module
from typing import Any, ClassVar

from contextrender.benchmarks.task import Environment, Message
from contextrender.errors import UnavailableError

SYSTEM = (
    "You act for your supervisor by writing Python for a stateful interpreter in which `apis` gives access to their "
    "apps: apis.api_docs.show_app_descriptions(), .show_api_descriptions(app_name=…), .show_api_doc(app_name=…, "
    "api_name=…) tell what there is; apis.supervisor has their profile and passwords. Print what you need to see. "
    "Never guess ids or credentials. When the task is done call apis.supervisor.complete_task(), with answer=… if the "
    "task asks for one."
)
RUN_CODE: Message = {
    "type": "function",
    "function": {
        "name": "run_code",
        "description": "Run Python in the interpreter; returns what it printed, or the error.",
        "parameters": {
            "type": "object",
            "properties": {"code": {"type": "string"}},
            "required": ["code"],
            "additionalProperties": False,
        },
    },
}


def _appworld() -> Any:
    try:
        return import_module("appworld")
    except ImportError as problem:
        raise UnavailableError(
            "AppWorld is not installed here: pip install appworld, then appworld install and appworld download data"
        ) from problem


class _Started:
    tools: ClassVar[list[Message]] = [RUN_CODE]

    def __init__(self, task_id: str) -> None:
        self._world = _appworld().AppWorld(task_id=task_id, experiment_name="contextrender")

    @property
    def first_messages(self) -> list[Message]:
        task = self._world.task
        who = task.supervisor
        request = f"I am {who.first_name} {who.last_name} ({who.email}, {who.phone_number}).\n{task.instruction}"
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": request}]

    def execute(self, name: str, arguments: str) -> str:
        if name != "run_code":
            return f"There is no tool {name!r}; use run_code."
        try:
            code = json.loads(arguments)["code"]
        except (ValueError, TypeError, KeyError):
            return 'The arguments must be {"code": "…"}.'
        return str(self._world.execute(str(code)))

    def finished(self) -> bool:
        return bool(self._world.task_completed())

    def score(self, answer: str) -> float:
        return float(self._world.evaluate().success)

    def close(self) -> None:
        self._world.close()


class AppWorld:
    """One split: `test_normal` (168 tasks) or `test_challenge` (417)."""

    metric = "TGC, %"
    max_turns = 50

    def __init__(self, split: str) -> None:
        self.name = f"appworld-{split}"
        self._split = split

    def task_ids(self) -> Sequence[str]:
        return list(_appworld().load_task_ids(self._split))

    def start(self, task_id: str) -> Environment:
        return _Started(task_id)
