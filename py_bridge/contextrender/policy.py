"""Policies: which signals with which weights, what unit is selected, and when (design §8).

Every named policy and ablation is a configuration of one renderer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from contextrender.errors import InputError
from contextrender.prices import Prices, prices_by_name

Unit = Literal["result", "step"]
Schedule = Literal["every_call", "cache_aware"]
Large = Literal["pointer", "summary", "head_tail", "omit"]


@dataclass(frozen=True)
class Policy:
    """A configuration of the renderer.

    weights: signal name -> weight; empty with unit `step` means the default model (weights/default.json).
    unit: `result` keeps all user and assistant text and selects results (App. A.4); `step` may drop old text too.
    schedule: `every_call` selects afresh at each call (Algorithm 1); `cache_aware` appends and selects at checkpoints.
    similarity_penalty: the 0.5 of Eq. 7; decay: λ; saturation: γ (App. A.3).
    cost_exponent: steps are taken by score / cost^cost_exponent.
    everything: pass the full history whatever the budget.
    checkpoint_every: steps after which a checkpoint is made even if it does not pay; 0: only where it pays or must be.
    checkpoint_note: a checkpoint says where the task stands, in a note for what it leaves out.
    lifecycle: at a retry, an interruption, a resolved confirmation, repeated errors, many changed files or a new step
    of the plan a checkpoint needs no margin.
    large: what stands for a result of more than `large_tokens` tokens that finds no room: `pointer` (its ref, where the
    host can redeem it), `summary` (and the ref), `head_tail` (and the ref), or `omit`. A pinned result that passes the
    budget is shortened likewise. With unit `result`: a summary of one that alone exceeds the budget (App. A.4), where
    the host gives a summarizer.
    prices: preset, model or Prices of the prompt cache that the cache-aware schedule reckons with.
    auto: the model's window is the only limit; from the budget on, manage when that is the cheaper way to the end.
    """

    name: str = "custom"
    weights: Mapping[str, float] = field(default_factory=dict)
    unit: Unit = "result"
    schedule: Schedule = "every_call"
    similarity_penalty: float = 0.5
    decay: float = 0.3
    saturation: float = 0.2
    cost_exponent: float = 0.2
    everything: bool = False
    checkpoint_every: int = 0
    checkpoint_note: bool = False
    lifecycle: bool = True
    large: Large = "pointer"
    large_tokens: int = 400
    prices: str | Prices = "paper"
    auto: bool = False

    def __post_init__(self) -> None:
        if self.unit not in ("result", "step"):
            raise InputError(f"unknown unit {self.unit!r}", "policy.unit", "result, step")
        if self.schedule not in ("every_call", "cache_aware"):
            raise InputError(f"unknown schedule {self.schedule!r}", "policy.schedule", "every_call, cache_aware")
        if self.unit == "result" and self.schedule == "cache_aware":
            raise InputError("the cache-aware schedule selects whole steps", "policy.unit", "step")
        if self.large not in ("pointer", "summary", "head_tail", "omit"):
            raise InputError(f"unknown form {self.large!r}", "policy.large", "pointer, summary, head_tail, omit")
        if self.checkpoint_every < 0:
            raise InputError(f"checkpoint_every is {self.checkpoint_every}", "policy.checkpoint_every", "0 or more")
        if self.auto and self.schedule != "cache_aware":
            raise InputError("auto weighs what the cache costs", "policy.schedule", "cache_aware")
        if isinstance(self.prices, Mapping):  # as it comes from JSON
            object.__setattr__(self, "prices", Prices(**self.prices))
        prices_by_name(self.prices)
        if self.unit == "result" and not self.weights and not self.everything:
            raise InputError("no signal has a weight", "policy.weights", "at least one signal")


_PAPER = Policy("paper", {"recency": 1.0, "reuse": 1.0, "relevance": 1.0})
_DEFAULT = Policy("default", unit="step", schedule="cache_aware", cost_exponent=0.4)

POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy("full", everything=True),
        Policy("prune", {"newest": 1.0}, similarity_penalty=0.0),
        _PAPER,
        replace(_PAPER, name="rec", weights={"recency": 1.0}),
        replace(_PAPER, name="rel", weights={"relevance": 1.0}),
        replace(_PAPER, name="rec+rel", weights={"recency": 1.0, "relevance": 1.0}),
        _DEFAULT,
        replace(_DEFAULT, name="default@every_call", schedule="every_call"),
        replace(_DEFAULT, name="auto", prices="openai", auto=True),
        Policy("clairvoyant", {"given": 1.0, "idle": 0.001}, unit="step"),
    )
}
"""The policies by name; rec, rel and rec+rel are the ablations of Table 3.

`default` foresees which results the next turns use, and sends a checkpoint only when that pays (design §8);
`default@every_call` selects afresh at each call, `auto` lets the model's window be the only wall.
"""


def policy_by_name(name: str) -> Policy:
    """The named policy. Raises InputError listing the names."""
    if name not in POLICIES:
        raise InputError(f"unknown policy {name!r}", "policy", ", ".join(POLICIES))
    return POLICIES[name]
