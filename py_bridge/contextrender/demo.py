"""The demo: a run recorded on the spot in the project's own app world, replayed call by call through the core."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextrender.session import Session
from contextrender.trace import Rendered
from contextrender.world.agent import run
from contextrender.world.tasks import get_task

TASK = "roommates"
"""The paper's Figure 2: settle a shared dinner bill; an address found at turn 8 is needed at turn 18."""


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One model call: Tok of the full history, Tok of what was rendered, and what happened to the results."""

    turn: int
    action: str
    full: int
    rendered: int
    kept: int
    omitted: int
    back: tuple[str, ...]
    """Refs of results that were omitted at the last call and are shown again."""


@dataclass(frozen=True, slots=True)
class Demo:
    """Everything the demo shows: the turns, the result that was reused latest, and one recalled from the graph."""

    budget: int
    policy: str
    rows: list[TurnRow]
    late_ref: str
    late_turn: int
    late_used: int
    late_text: str
    recalled_ref: str
    recalled_text: str


def _action(message: dict[str, Any]) -> str:
    calls = message.get("tool_calls") or ()
    return ", ".join(call["function"]["name"] for call in calls) or str(message.get("content") or "")[:40]


def replay_world(policy: str, budget: int, embedder: str = "wordllama") -> Demo:
    """Record the task with full history and replay it under the budget."""
    messages = run(get_task(TASK)).messages
    session = Session(policy, budget, embedder)
    rows: list[TurnRow] = []
    rendered: Rendered | None = None
    for position, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        session.ingest(messages[:position], whole=True)
        before = set(rendered.omitted) if rendered else set()
        rendered = session.render()
        back = tuple(ref for ref in rendered.kept if ref in before)
        full = session.history.budgeted_tokens()
        rows.append(
            TurnRow(
                len(rows) + 1, _action(message), full, rendered.tokens, len(rendered.kept), len(rendered.omitted), back
            )
        )
    late = max(
        (entry for entry in session.history.results if session.history.reuse.scores[entry.number] > 0),
        key=lambda entry: session.history.last_use[entry.number] - entry.turn,
    )
    omitted = rendered.omitted[0] if rendered and rendered.omitted else late.ref
    return Demo(
        budget,
        policy,
        rows,
        late.ref,
        late.turn,
        session.history.last_use[late.number],
        late.text,
        omitted,
        str(session.recall(omitted)["content"]),
    )


def draw(demo: Demo, path: Path) -> None:
    """A figure of tokens by turn: full history, what was rendered, the budget, and where results came back."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
    turns = [row.turn for row in demo.rows]
    axes.plot(turns, [row.full for row in demo.rows], color="0.6", label="full history")
    axes.plot(
        turns, [row.rendered for row in demo.rows], color="tab:blue", linewidth=2, label=f"rendered ({demo.policy})"
    )
    axes.axhline(demo.budget, color="tab:red", linestyle="--", linewidth=1, label=f"budget {demo.budget:,}")
    back = [row for row in demo.rows if row.back]
    if back:
        axes.scatter(
            [row.turn for row in back],
            [row.rendered for row in back],
            color="tab:green",
            zorder=3,
            label="an omitted result is shown again",
        )
    axes.set_xlabel("turn (model call)")
    axes.set_ylabel("history tokens")
    axes.set_title("One run, with and without ContextRender")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
    plt.close(figure)
