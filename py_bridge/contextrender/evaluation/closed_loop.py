"""The app world's agent running on renders alone: goals reached, and look-ups repeated.

The agent knows only what is shown. A value that is not shown is looked up again, at most twice for the same look-up;
then it gives up. Recall on recorded runs cannot show this: there, every look-up was made with the full history.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from contextrender.baselines.registry import Settings, make_selector
from contextrender.evaluation.replay import Case, reason_of
from contextrender.evaluation.tables import Grid
from contextrender.session import Session
from contextrender.world.agent import run
from contextrender.world.tasks import DEFAULT_SEED, Task, all_tasks
from contextrender.world.view import ChatMessage

BLIND = frozenset({"clairvoyant"})
"""Selectors that need a recorded future: not run here."""


@dataclass(frozen=True, slots=True)
class Played:
    """A task played on one selector's renders. `failed`: why the selector stopped answering."""

    reached: bool
    turns: int
    look_ups: int
    over_budget: int
    failed: str = ""


def play(task: Task, selector: str, budget: int, embedder: str) -> Played:
    """Let the agent work on a task with what the selector shows of the history so far."""
    session = Session("full", budget, embedder)
    chosen = make_selector(selector, Settings(budget))
    over = 0
    failed = ""

    def render(messages: list[ChatMessage]) -> list[ChatMessage]:
        nonlocal over, failed
        session.ingest(messages, whole=True)
        if failed:
            return messages
        try:
            decision = chosen.decide(session, {})
        except Exception as error:  # another's code may raise anything
            failed = reason_of(error)
            return messages
        over += decision.over_budget and selector != "full"
        return decision.messages()

    done = run(task, render)
    chosen.close()
    return Played(not done.goal_unmet and not failed, done.turns, done.extra_calls, over, failed)


def _play(case: tuple[int, int, Case, str]) -> Played:
    seed, number, (selector, budget), embedder = case
    return play(all_tasks(seed)[number], selector, budget, embedder)


def play_all(cases: Sequence[Case], embedder: str, worlds: int, jobs: int) -> Iterator[tuple[Case, Played]]:
    """Every task of `worlds` worlds in every case, worked on by `jobs` processes."""
    tasks = [(DEFAULT_SEED + world, number) for world in range(worlds) for number in range(len(all_tasks()))]
    jobs_of = [(seed, number, case, embedder) for case in cases if case[0] not in BLIND for seed, number in tasks]
    if jobs == 1:
        results: Iterator[Played] = map(_play, jobs_of)
        yield from ((job[2], played) for job, played in zip(jobs_of, results, strict=True))
        return
    with ProcessPoolExecutor(jobs) as pool:
        for job, played in zip(jobs_of, pool.map(_play, jobs_of, chunksize=4), strict=True):
            yield job[2], played


def total(played: Sequence[Played]) -> dict[str, object]:
    """Sums over the tasks of one case, as JSON."""
    row: dict[str, object] = {
        "tasks": len(played),
        "goals_reached": sum(one.reached for one in played),
        "turns": sum(one.turns for one in played),
        "repeated_look_ups": sum(one.look_ups for one in played),
        "over_budget": sum(one.over_budget for one in played),
    }
    failed = next((one.failed for one in played if one.failed), "")
    return row | {"failed": failed} if failed else row


def loop_table(totals: dict[Case, dict[str, object]], labels: dict[str, str]) -> Grid:
    """Goals reached by selector and budget."""
    rows = [
        (
            labels.get(name, name),
            f"{budget:,}",
            f"{row['goals_reached']} of {row['tasks']}",
            str(row["turns"]),
            str(row["repeated_look_ups"]),
            str(row["over_budget"]),
        )
        for (name, budget), row in totals.items()
    ]
    headings = ("selector", "B", "goals reached", "turns", "repeated look-ups", "over budget")
    notes = [f"{name} failed: {row['failed']}" for (name, _), row in totals.items() if "failed" in row]
    return Grid("Closed loop: the app world's agent runs on the renders alone", headings, rows, notes)
