"""Replays recorded runs: before each recorded model call, every selector says what it would show (App. B.4).

The session is ingested once; the selectors decide on the same graph. Turn j is used only afterwards, to label events.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from contextrender.baselines.registry import Settings, make_selector
from contextrender.baselines.selector import Decision, Selector
from contextrender.evaluation.cost import Usage, cached_tokens
from contextrender.evaluation.events import reuse_events
from contextrender.evaluation.traces import Trace
from contextrender.legality import violations
from contextrender.session import Session

REFERENCE = "full"
"""The selector that ρ and the cost divisor come from (App. C.2)."""


@dataclass(slots=True)
class Outcome:
    """What one selector did on one trace."""

    hits: Counter[str] = field(default_factory=Counter)
    """Events whose result was visible, by age bin."""
    usage: Usage = field(default_factory=Usage)
    management: Usage = field(default_factory=Usage)
    """Tokens of the selector's own model and embedding calls."""
    over_budget: int = 0
    illegal: list[str] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class TraceOutcome:
    """A trace's events by age bin, whether its history exceeds the budget, and each selector's outcome."""

    events: Counter[str]
    exceeds: bool
    selectors: dict[str, Outcome]


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker needs to replay one trace."""

    trace: Trace
    selectors: tuple[str, ...]
    budget: int
    embedder: str
    check: bool = False
    decisions: bool = False


def decisions(
    session: Session, messages: Sequence[dict[str, Any]], selectors: Mapping[str, Selector]
) -> Iterator[tuple[int, dict[str, Decision]]]:
    """For each assistant message: its position and every selector's decision on the messages before it."""
    coming: dict[int, dict[int, float]] = {}
    for event in reuse_events(messages):
        coming.setdefault(event.turn, {})[event.position] = 1.0
    turn = 0
    for position, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        turn += 1
        session.ingest(messages[:position], whole=True)  # a tail that repeats the history's end would be dropped
        yield position, {name: one.decide(session, coming.get(turn, {})) for name, one in selectors.items()}


def replay_trace(task: Task) -> TraceOutcome:
    """Replay one trace with every selector, and with full history for the cost's reference."""
    messages = task.trace.messages
    names = tuple(dict.fromkeys((*task.selectors, REFERENCE)))
    session = Session(REFERENCE, task.budget, task.embedder)
    labelled = reuse_events(messages)
    by_turn: dict[int, list[tuple[int, str]]] = {}
    for event in labelled:
        by_turn.setdefault(event.turn, []).append((event.position, event.age_bin))
    outcomes = {name: Outcome() for name in names}
    selectors = {name: make_selector(name, Settings(task.budget)) for name in names}
    previous: dict[str, Decision] = {}
    exceeds = False
    for turn, (position, decided) in enumerate(decisions(session, messages, selectors), 1):
        exceeds = session.history.budgeted_tokens() > task.budget
        for name, plan in decided.items():
            outcome = outcomes[name]
            kept = set(plan.kept)
            outcome.hits.update(age_bin for source, age_bin in by_turn.get(turn, ()) if source in kept)
            outcome.over_budget += plan.over_budget and name != REFERENCE
            before = previous.get(name)
            prompt = sum(tokens for _, tokens in plan.shown)
            outcome.usage += Usage(prompt, cached_tokens(before.shown, plan.shown) if before else 0)
            if task.decisions:
                outcome.decisions.append(
                    {
                        "trace": task.trace.name,
                        "turn": turn,
                        "selector": name,
                        "kept": sorted(kept),
                        "tokens": plan.tokens,
                        "over_budget": plan.over_budget,
                    }
                )
            if task.check:
                wrong = violations(messages[:position], plan.messages(), selectors[name].liberties)
                if plan.tokens > task.budget and not plan.over_budget:
                    wrong.append("the budget is passed without a flag")
                outcome.illegal += (f"{task.trace.name} turn {turn} {name}: {text}" for text in wrong)
        previous = decided
    for name, selector in selectors.items():
        outcomes[name].management = selector.spent
        selector.close()
    if turns := sum(message["role"] == "assistant" for message in messages):
        _count_outputs(session, messages, outcomes, turns)
    return TraceOutcome(Counter(event.age_bin for event in labelled), exceeds, outcomes)


def _count_outputs(
    session: Session, messages: Sequence[dict[str, Any]], outcomes: dict[str, Outcome], turns: int
) -> None:
    """Output tokens are those of the recorded assistant messages, the same for every selector."""
    session.ingest(messages, whole=True)
    output = sum(entry.full_tokens for entry in session.history.assistants[:turns])
    for outcome in outcomes.values():
        outcome.usage.output = output


def replay_all(tasks: Sequence[Task], jobs: int) -> Iterator[TraceOutcome]:
    """Outcomes of the tasks, in order, worked on by `jobs` processes."""
    if jobs == 1 or len(tasks) < 2:
        yield from map(replay_trace, tasks)
        return
    with ProcessPoolExecutor(min(jobs, len(tasks))) as pool:
        yield from pool.map(replay_trace, tasks, chunksize=max(1, min(8, len(tasks) // (4 * jobs))))
