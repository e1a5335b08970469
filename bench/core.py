"""Benchmark of the core, in one process: ingest and render at growing session lengths. Medians; ratios in one run.

.venv/bin/python bench/core.py
"""

import statistics
import time
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

from contextrender.policy import policy_by_name
from contextrender.session import Session

LENGTHS = (100, 1_000, 10_000)
RENDERED = ("paper", "default", "default@every_call")
KILOBYTE = "status ok order_{0} customer C{0}XYZ shipped from depot_{1} to somewhere else on the map, "


def random_vectors(texts: list[str]) -> np.ndarray:
    """Embeddings that cost nothing, so that only the core is measured."""
    return np.random.default_rng(len(texts)).standard_normal((len(texts), 256)).astype(np.float32)


def step(number: int) -> list[dict]:
    """One turn: a call that names an earlier value, and a result of about 1 KB."""
    text = "".join(KILOBYTE.format(number * 20 + i, i) for i in range(11))
    call = {
        "id": f"c{number}",
        "type": "function",
        "function": {"name": "track", "arguments": f'{{"id": "order_{number}"}}'},
    }
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": text},
    ]


def timed(action, times: int) -> float:
    """Median milliseconds of an action."""
    samples = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        samples.append((time.perf_counter() - start) * 1e3)
    return statistics.median(samples)


def measure(length: int) -> list[float]:
    """Milliseconds at a session of `length` results: ingest of a turn, renders by policy, a fork."""
    session = Session("paper", 6000, random_vectors)
    session.ingest([{"role": "user", "content": "track the orders"}], whole=False)
    for number in range(length):
        session.ingest(step(number), whole=False)
    numbers = iter(range(length, length + 50))
    found = [timed(lambda: session.ingest(step(next(numbers)), whole=False), 30)]
    for name in RENDERED:
        policy = policy_by_name(name)
        last = session.plan(policy, 6000)
        session.ingest(step(next(numbers)), whole=False)
        plan = partial(session.plan, policy, 6000, last)
        plan()
        found.append(timed(lambda plan=plan: plan().messages(), 7))
    history = session.history
    return [*found, timed(lambda: history.fork(len(history)), 1)]


def main() -> None:
    """Print the table."""
    table = Table(title="ms, medians; embeddings given, B = 6,000")
    for heading in ("results", "ingest 1 turn (1 KB)", *(f"render {name}" for name in RENDERED), "fork"):
        table.add_column(heading, justify="right")
    for length in LENGTHS:
        table.add_row(f"{length:,}", *(f"{cell:.2f}" for cell in measure(length)))
    Console().print(table)


if __name__ == "__main__":
    main()
