"""Replays recorded runs: before each recorded model call, every selector says what it would show (App. B.4).

The session is ingested once; the selectors decide on the same graph, each under each budget. Turn j is used only
afterwards, to label events.
"""

import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contextrender.baselines.registry import Settings, make_selector
from contextrender.baselines.selector import Decision, Selector
from contextrender.errors import ContextRenderError
from contextrender.evaluation.cost import Usage, cached_tokens
from contextrender.evaluation.events import reuse_events
from contextrender.evaluation.traces import Trace
from contextrender.legality import violations
from contextrender.policy import POLICIES
from contextrender.session import Session
from contextrender.transcripts.chat import parse_messages

REFERENCE = "full"
"""The selector that ρ and the cost divisor come from (App. C.2)."""

type Case = tuple[str, int]
"""A selector and its budget."""


@dataclass(slots=True)
class Outcome:
    """What one selector did on one trace under one budget."""

    hits: Counter[str] = field(default_factory=Counter)
    """Events whose result was visible, by age bin."""
    calls: list[tuple[int, int]] = field(default_factory=list)
    """By model call: tokens of the input, and of its prefix that the call before had, too, in whole messages."""
    output: int = 0
    """Tokens of the recorded assistant messages."""
    management: Usage = field(default_factory=Usage)
    """Tokens of the selector's own model and embedding calls."""
    over_budget: int = 0
    illegal: list[str] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    failed: str = ""
    """Why the selector did not get to the end; its figures then say nothing."""

    @property
    def usage(self) -> Usage:
        """Tokens of the agent's calls."""
        return Usage(sum(prompt for prompt, _ in self.calls), sum(cached for _, cached in self.calls), self.output)


@dataclass(slots=True)
class TraceOutcome:
    """A trace's events by age bin, Tok of its history at the last invocation, and what each case did."""

    events: Counter[str]
    tokens: int
    cases: dict[Case, Outcome]

    def exceeds(self, budget: int) -> bool:
        """Whether the budget bites (App. C.1)."""
        return self.tokens > budget


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker needs to replay one trace. `sweep` says that a decision's budget must be told."""

    trace: Trace
    cases: tuple[Case, ...]
    embedder: str
    check: bool = False
    decisions: bool = False
    sweep: bool = False


def with_reference(selectors: Sequence[str], budgets: Sequence[int]) -> tuple[Case, ...]:
    """All cases of a sweep, full history included, which the costs refer to."""
    return tuple(dict.fromkeys((name, budget) for name in (*selectors, REFERENCE) for budget in budgets))


def decisions(
    session: Session,
    messages: Sequence[dict[str, Any]],
    selectors: Mapping[Case, Selector],
    outcomes: dict[Case, Outcome],
) -> Iterator[tuple[int, dict[Case, Decision]]]:
    """For each assistant message: its position and every selector's decision on the messages before it.

    A selector that fails is not asked again in this run; its outcome says why.
    """
    coming: dict[int, dict[int, float]] = {}
    for use in reuse_events(messages):
        coming.setdefault(use.turn, {})[use.position] = 1.0
    events = parse_messages(messages)
    turn = known = 0
    for position, event in enumerate(events):
        if event.role != "assistant":
            continue
        turn += 1
        if position > known:
            session.append(events[known:position])
            known = position
        decided: dict[Case, Decision] = {}
        for case, selector in selectors.items():
            if outcomes[case].failed:
                continue
            try:
                decided[case] = selector.decide(session, coming.get(turn, {}))
            except Exception as error:  # another's code may raise anything; the other selectors go on
                outcomes[case].failed = f"turn {turn}: {reason_of(error)}"
        yield position, decided
    if len(events) > known:
        session.append(events[known:])


def reason_of(error: Exception) -> str:
    """Why something failed, without what a foreign error may quote: keys, prompts."""
    if isinstance(error, ContextRenderError):
        return str(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(frame.filename).name}:{frame.lineno}"


def replay_trace(task: Task) -> TraceOutcome:
    """Replay one trace in every case of the task."""
    messages = task.trace.messages
    session = Session(REFERENCE, embedder=task.embedder)
    labelled = reuse_events(messages)
    by_turn: dict[int, list[tuple[int, str]]] = {}
    for event in labelled:
        by_turn.setdefault(event.turn, []).append((event.position, event.age_bin))
    outcomes = {case: Outcome() for case in task.cases}
    selectors = {case: make_selector(case[0], Settings(case[1])) for case in task.cases}
    previous: dict[Case, Decision] = {}
    turn = tokens = 0
    for turn, (position, decided) in enumerate(decisions(session, messages, selectors, outcomes), 1):
        tokens = session.history.budgeted_tokens()
        for case, plan in decided.items():
            name, budget = case
            outcome = outcomes[case]
            kept = set(plan.kept)
            outcome.hits.update(age_bin for source, age_bin in by_turn.get(turn, ()) if source in kept)
            outcome.over_budget += plan.over_budget and name != REFERENCE
            prompt = sum(tokens for _, tokens in plan.shown)
            before = previous.get(case)
            outcome.calls.append((prompt, cached_tokens(before.shown, plan.shown) if before else 0))
            if task.decisions:
                row = {"trace": task.trace.name, "turn": turn, "selector": name, "kept": sorted(kept)}
                row |= {"tokens": plan.tokens, "over_budget": plan.over_budget}
                outcome.decisions.append(row | {"budget": budget} if task.sweep else row)
            if task.check:
                wrong = violations(messages[:position], plan.messages(), selectors[case].liberties)
                bound = name not in POLICIES or not POLICIES[name].auto  # only the window binds `auto`
                if bound and plan.tokens > budget and not plan.over_budget:
                    wrong.append("the budget is passed without a flag")
                outcome.illegal += (f"{task.trace.name} turn {turn} {name} B={budget}: {text}" for text in wrong)
        previous = decided
    output = sum(entry.full_tokens for entry in session.history.assistants[:turn])
    for case, selector in selectors.items():
        outcomes[case].management = selector.spent
        outcomes[case].output = output
        selector.close()
    return TraceOutcome(Counter(event.age_bin for event in labelled), tokens, outcomes)
