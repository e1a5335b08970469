"""Snapshot and trace of one render: what the model saw, what it cost, and why (design §8)."""

from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rendered:
    """What to send. `messages` is new; `kept` and `omitted` are the raw refs of the results shown in full or not.

    `tokens` counts what the budget counts; `over_budget` says that even the smallest legal history passed it.
    `sources`: of a chat-completions conversation, by message, the index of the message that it shows, None for a note.
    """

    messages: list[Message]
    tokens: int
    kept: tuple[str, ...]
    omitted: tuple[str, ...]
    over_budget: bool
    snapshot_id: str
    sources: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class ResultTrace:
    """Why one tool result was kept, restored, shortened or omitted.

    The terms add up to the score (Eq. 2); the default model's score is the logistic function of their sum. Both are
    empty where everything was shown. `reused_values` are those reused so far.
    """

    ref: str
    tool: str
    turn: int
    tokens: int
    terms: dict[str, float]
    score: float
    fate: str
    reused_values: list[str]


@dataclass(frozen=True, slots=True)
class ShownTrace:
    """One message as the model saw it: its role, what it is (`message`, `result`, or the kind of a note), the position
    of its event, its tokens, and a hash of its wire JSON; `cached` says that the render before began with it, too."""

    role: str
    kind: str
    position: int
    tokens: int
    hash: str
    cached: bool


@dataclass(frozen=True, slots=True)
class UsageTrace:
    """What the provider counted in one model call. prefill_seconds: until the first token; None if not measured."""

    uncached: int
    cached: int
    written: int
    output: int
    prefill_seconds: float | None

    @property
    def cached_share(self) -> float:
        """The part of the input that was read from the prompt cache."""
        whole = self.uncached + self.cached + self.written
        return self.cached / whole if whole else 0.0


@dataclass(frozen=True, slots=True)
class Explained:
    """The trace of one render.

    why: what the schedule weighed. prefix_tokens: how much of the input the render before began with; cost: the input's
    price in uncached tokens, by the policy's prices. facts_left_out: facts told by the host that found no room. usage:
    what the provider said of the call, if that was recorded.
    """

    snapshot_id: str
    policy: str
    budget: int
    turn: int
    tokens: int
    reason: str
    over_budget: bool
    results: list[ResultTrace]
    why: dict[str, Any]
    shown: list[ShownTrace]
    total_tokens: int
    prefix_tokens: int
    cost: float
    facts_left_out: int
    usage: UsageTrace | None = None

    def __str__(self) -> str:
        return explain_text(self)


REASONS = {
    "whole": "everything is shown",
    "selected": "selected afresh",
    "append": "the input before, with what is new",
    "checkpoint": "a checkpoint: selected afresh behind what is kept of the input before",
    "smallest": "the smallest legal history",
}


def explain_text(explained: Explained) -> str:
    """The trace for people."""
    lines = [
        f"{explained.snapshot_id}: policy {explained.policy}, turn {explained.turn}, "
        f"{explained.tokens:,} of {explained.budget:,} tokens{' (OVER BUDGET)' if explained.over_budget else ''}",
        f"{REASONS.get(explained.reason, explained.reason)}; {explained.prefix_tokens:,} of {explained.total_tokens:,} "
        f"input tokens as in the render before, which costs like {explained.cost:,.0f} uncached ones",
    ]
    lines += [f"  {name.replace('_', ' ')}: {_plain(value)}" for name, value in explained.why.items()]
    if explained.facts_left_out:
        lines.append(f"  facts without room: {explained.facts_left_out}")
    if explained.usage:
        waited = explained.usage.prefill_seconds
        lines.append(
            f"  the provider read {explained.usage.cached:,} tokens from its cache ({explained.usage.cached_share:.0%})"
            f"{f'; first token after {waited:.2f} s' if waited is not None else ''}"
        )
    lines.append("")
    lines.append("shown (= as before, + new)")
    lines += [
        f"  {'=' if item.cached else '+'} {item.position:>5} {item.role:<10}{item.kind:<11}"
        f"{item.tokens:>7}  {item.hash}"
        for item in explained.shown
    ]
    if explained.results:
        lines += ["", "results, the most useful first"]
    for result in sorted(explained.results, key=lambda item: -item.score):
        terms = sorted(result.terms.items(), key=lambda term: -abs(term[1]))
        told = ", ".join(f"{name} {value:+.2f}" for name, value in terms[:4] if value)
        lines.append(
            f"  {result.fate:<10}{result.ref:>6} {result.tool[:24]:<24}{result.tokens:>7} tokens  "
            f"score {result.score:.3f}{f'  ({told})' if told else ''}"
        )
    return "\n".join(lines)


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
