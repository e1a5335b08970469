"""Selectors by name: every policy, every baseline of the paper, and what people use today."""

from collections.abc import Callable
from dataclasses import dataclass

from contextrender.baselines.policies import PolicySelector
from contextrender.baselines.selector import Selector
from contextrender.errors import InputError
from contextrender.policy import POLICIES, policy_by_name


@dataclass(frozen=True, slots=True)
class Settings:
    """What all selectors of one evaluation share. budget: B, in tokens of history."""

    budget: int


_BASELINES: dict[str, Callable[[Settings], Selector]] = {}
"""Baseline name -> its maker."""


def selector_names() -> list[str]:
    """Every name that `make_selector` takes: policies first."""
    return [*POLICIES, *_BASELINES]


def check_selector(name: str) -> None:
    """Raise InputError listing the names for an unknown one, UnavailableError where what it needs is missing."""
    if name not in POLICIES and name not in _BASELINES:
        raise InputError(f"unknown selector {name!r}", "selectors", ", ".join(selector_names()))


def label(name: str, settings: Settings) -> str:
    """The name as tables show it: with the summarizer, where the method uses one."""
    return name


def make_selector(name: str, settings: Settings) -> Selector:
    """A new selector for one run; raises like `check_selector`."""
    check_selector(name)
    if name in _BASELINES:
        return _BASELINES[name](settings)
    return PolicySelector(policy_by_name(name), settings.budget)
