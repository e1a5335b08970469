"""Fit the default policy's weights on agent traces (design §8).

    python bench/fit_default.py traces/*.jsonl.gz --out py_bridge/contextrender/weights/default.json

A trace file holds one JSON object a line with `messages` (chat completions); each file is one source, and all sources
weigh the same. The model is a logistic regression: will the coming turn use this result? A turn uses a result when it
says a name that the result owns. Rows are pairs of an invocation and a result that is not of the latest turn.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from contextrender.embeddings import RESULT_CHARS, TASK_CHARS, Embeddings
from contextrender.names import Array, NameUse
from contextrender.transcripts.chat import parse_messages
from contextrender.usefulness import SIGNALS, signals
from contextrender.values import call_text

RIDGE = 3.0
"""L2 penalty on the standardised weights; the bias has none."""
TOTAL_WEIGHT = 20_000.0
"""What the rows' weights add up to."""


def read_traces(path: Path) -> Iterator[list[dict[str, Any]]]:
    """The messages of each trace in a .jsonl or .jsonl.gz file."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)["messages"]


def rows_of(messages: list[dict[str, Any]], embeddings: Embeddings) -> tuple[Array, Array]:
    """The signals (rows, signals) before each invocation of a trace, and whether it used the row's result (rows,)."""
    names = NameUse()
    calls: dict[str, tuple[int, str, str]] = {}
    inputs, outputs = [np.zeros((0, len(SIGNALS)))], [np.zeros(0)]
    vectors: list[Any] = []
    task: Any = None
    for event in parse_messages(messages):
        match event.role:
            case "assistant":
                turn = names.turn
                if vectors and task is not None:
                    likeness = np.maximum(np.stack(vectors) @ task, 0)
                else:
                    likeness = np.zeros(names.count)
                before = np.stack(list(signals(names, turn, likeness).values()), axis=1)
                rows = names.column("turn") < turn
                texts = [*filter(None, [event.text]), *(call_text(call.name, call.arguments) for call in event.calls)]
                used = np.zeros(names.count)
                used[names.add_assistant(turn + 1, "\n".join(texts))] = 1
                inputs.append(before[rows])
                outputs.append(used[rows])
                calls.update((call.call_id, (turn + 1, call.name, call.arguments)) for call in event.calls)
            case "tool":
                made, tool, arguments = calls.pop(event.call_id, (names.turn, "", ""))
                names.add_result(names.count, event.text, made, tool, arguments)
                vectors.append(embeddings([event.text[:RESULT_CHARS]])[0])
            case "user":
                names.add_user(event.text)
                if task is None:
                    task = embeddings([event.text[:TASK_CHARS]])[0]
            case _:
                names.add_other(event.text)
    return np.concatenate(inputs), np.concatenate(outputs)


def fit(inputs: Array, used: Array, source: Array) -> tuple[Array, Array, Array]:
    """Coefficients (bias first), means and scales, by iteratively reweighted least squares."""
    weights = np.zeros(len(used))
    for number in np.unique(source):
        weights[source == number] = 1 / max(1.0, used[source == number].sum())
    weights *= TOTAL_WEIGHT / weights.sum()
    mean = np.average(inputs, axis=0, weights=weights)
    scale = np.sqrt(np.average((inputs - mean) ** 2, axis=0, weights=weights)) + 1e-9
    design = np.column_stack([np.ones(len(inputs)), (inputs - mean) / scale])
    ridge = np.diag([1e-6] + [RIDGE] * inputs.shape[1])
    found = np.zeros(design.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
        curvature = (design * (weights * chance * (1 - chance))[:, None]).T @ design + ridge
        step = np.linalg.solve(curvature, design.T @ (weights * (used - chance)) - ridge @ found)
        found += step
        if np.abs(step).max() < 1e-8:
            break
    return found, mean, scale


def as_json(found: Array, mean: Array, scale: Array) -> str:
    """The weights file, numbers to five digits."""

    def short(number: float) -> float:
        return float(f"{number:.5g}")

    parts = {
        name: {"weight": short(weight), "mean": short(middle), "scale": short(spread)}
        for name, weight, middle, spread in zip(SIGNALS, found[1:], mean, scale, strict=True)
    }
    what = "p = 1/(1+exp(-z)), z = bias + sum weight*(signal-mean)/scale: chance that the next turn uses a result"
    return json.dumps({"what": what, "bias": short(found[0]), "signals": parts}, indent=1) + "\n"


def main() -> None:
    """Read the traces named on the command line, fit, and write the weights."""
    parser = argparse.ArgumentParser(description="Fit the default policy's weights on agent traces.")
    parser.add_argument("traces", nargs="+", type=Path, help="trace files, .jsonl or .jsonl.gz; each is one source")
    parser.add_argument("--out", type=Path, help="where the weights go (standard output if left out)")
    parser.add_argument("--embedder", default="wordllama", help="the embedder of the signal `task`")
    options = parser.parse_args()
    embeddings = Embeddings(options.embedder)
    inputs, used, source = [], [], []
    for number, path in enumerate(options.traces):
        for messages in read_traces(path):
            rows, answers = rows_of(messages, embeddings)
            inputs.append(rows)
            used.append(answers)
            source.append(np.full(len(answers), float(number)))
        print(f"{path.name}: read", file=sys.stderr)
    everything, outcomes = np.concatenate(inputs), np.concatenate(used)
    print(f"{len(outcomes)} rows, {int(outcomes.sum())} uses", file=sys.stderr)
    text = as_json(*fit(everything, outcomes, np.concatenate(source)))
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
