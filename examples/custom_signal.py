"""A signal of one's own: results that are short are worth a little more.

    .venv/bin/python examples/custom_signal.py
"""

import numpy as np

from contextrender import Policy, Session
from contextrender.signals import Array, View, register
from contextrender.world.agent import run
from contextrender.world.tasks import get_task


def brevity(view: View) -> Array:
    """1 for an empty result, falling towards 0 with its tokens."""
    return 1 / (1 + np.array([entry.tokens for entry in view.history.results]) / 200)


register("brevity", brevity)
policy = Policy("brief", {"idle": 1.0, "reuse": 1.0, "brevity": 0.5}, unit="step")
session = Session(policy, budget=3000, embedder="hash")
session.ingest(run(get_task("roommates")).messages)
rendered = session.render()
for result in session.explain(rendered.snapshot_id).results:
    terms = " ".join(f"{name} {value:.2f}" for name, value in result.terms.items())
    print(f"{result.fate:8} {result.ref:4} {result.tool:24} {result.score:.2f}  {terms}")
