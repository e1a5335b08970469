"""The app world's agent running on renders alone: goals reached and look-ups repeated, by policy and budget.

    .venv/bin/python bench/closed_loop.py

The agent knows only what is shown. A value that is not shown is looked up again, at most twice for the same look-up;
then it gives up. Recall on recorded runs cannot show this: there, every look-up was made with the full history.
"""

from rich.console import Console
from rich.progress import track
from rich.table import Table

from contextrender.session import Session
from contextrender.world.agent import ChatMessage, run
from contextrender.world.tasks import Task, all_tasks

POLICIES = ("full", "prune", "paper", "default", "default@every_call")
BUDGETS = (6000, 4000)


def play(task: Task, policy: str, budget: int) -> tuple[bool, int, int]:
    """Whether the goal was reached, the turns, and the repeated look-ups."""
    session = Session(policy, budget, "hash")

    def render(messages: list[ChatMessage]) -> list[ChatMessage]:
        session.ingest(messages, whole=True)
        return session.render().messages

    done = run(task, render)
    return not done.goal_unmet, done.turns, done.extra_calls


def main() -> None:
    """Print the table."""
    tasks = all_tasks()
    table = Table(title=f"{len(tasks)} tasks, embedder hash")
    for heading in ("budget", "policy", "goals reached", "turns", "repeated look-ups"):
        table.add_column(heading, justify="left" if heading == "policy" else "right")
    cases = [(budget, policy) for budget in BUDGETS for policy in POLICIES]
    for budget, policy in track(cases, "running", transient=True):
        outcomes = [play(task, policy, budget) for task in tasks]
        goals, turns, lookups = (sum(column) for column in zip(*outcomes, strict=True))
        table.add_row(f"{budget:,}", policy, str(goals), str(turns), str(lookups))
    Console().print(table)


if __name__ == "__main__":
    main()
