"""Replays on several processes; what is done is handed out at once, so that nothing done is lost."""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

from contextrender.errors import UnavailableError
from contextrender.evaluation.replay import Outcome, Task, TraceOutcome, replay_trace

ENOUGH = 2
"""A selector that failed on so many runs (a dead summarizer) is not asked on the others."""


def replay_all(tasks: Sequence[Task], jobs: int = 1) -> Iterator[tuple[int, TraceOutcome]]:
    """(index of the task, its outcome) as they are done, the longest first, on `jobs` processes.

    Raises UnavailableError when a worker process dies.
    """
    failures: Counter[str] = Counter()
    order = sorted(range(len(tasks)), key=lambda index: -len(tasks[index].trace.messages))

    def finished(index: int, outcome: TraceOutcome) -> tuple[int, TraceOutcome]:
        failures.update({name for (name, _), case in outcome.cases.items() if case.failed})
        for case in set(tasks[index].cases) - set(outcome.cases):
            outcome.cases[case] = Outcome(failed="not asked: it failed on other runs")
        return index, outcome

    def still_asked(task: Task) -> Task:
        return replace(task, cases=tuple(case for case in task.cases if failures[case[0]] < ENOUGH))

    if jobs == 1 or len(tasks) < 2:
        for index in order:
            yield finished(index, replay_trace(still_asked(tasks[index])))
        return
    pool = ProcessPoolExecutor(min(jobs, len(tasks)))
    running: dict[Future[TraceOutcome], int] = {}
    waiting = list(reversed(order))
    try:
        while True:
            while waiting and len(running) < 2 * jobs:
                index = waiting.pop()
                running[pool.submit(replay_trace, still_asked(tasks[index]))] = index
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                outcome = future.result()
                yield finished(running.pop(future), outcome)
    except BrokenProcessPool:
        names = ", ".join(sorted(tasks[index].trace.name for index in running.values()))
        raise UnavailableError(
            f"a worker process died (killed, or out of memory) while it replayed one of: {names}. What was done is "
            "kept where --json or --report is given: run the same command again with --resume, perhaps with --jobs 1"
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
