"""Selectors by name: every policy, every baseline of the paper, and what people use today."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from contextrender.baselines.masking import ClearToolUses, KeepLastN
from contextrender.baselines.paper import Acon, Compact, RecencySummary, SemanticRetrieval
from contextrender.baselines.policies import PolicySelector
from contextrender.baselines.selector import Selector
from contextrender.compaction.summarizer import Summarizer
from contextrender.errors import InputError
from contextrender.policy import POLICIES, policy_by_name


@dataclass(frozen=True, slots=True)
class Settings:
    """What all selectors of one evaluation share. budget: B, in tokens of history."""

    budget: int


EXTRACTIVE = "extractive"
"""The summarizer without a model, where the name of a selector asks for none."""


def guideline() -> str:
    """ACON's guideline: the file that CTXGRAPH_ACON_GUIDELINE names, else ours (baselines/acon_guideline.txt)."""
    given = os.environ.get("CTXGRAPH_ACON_GUIDELINE")
    path = Path(given) if given else Path(__file__).with_name("acon_guideline.txt")
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise InputError(reason, f"CTXGRAPH_ACON_GUIDELINE={path}", "a text file") from error


def _summarizer(model: str) -> Summarizer:
    if model == EXTRACTIVE:
        from contextrender.compaction.extractive import Extractive

        return Extractive()
    from contextrender.compaction.byllm import FileCache, summarizer_from_environment

    return summarizer_from_environment(model, FileCache(platformdirs.user_cache_path("contextrender") / "summaries"))


_SUMMARIZING: dict[str, Callable[[Settings, str], Selector]] = {
    "compact": lambda settings, model: Compact(settings.budget, _summarizer(model)),
    "recency+summary": lambda settings, model: RecencySummary(settings.budget, _summarizer(model)),
    "acon": lambda settings, model: Acon(settings.budget, _summarizer(model), guideline()),
}
"""Baselines that summarize. `compact=openai/gpt-4.1` says who does; without a model it is `extractive`."""
_BASELINES: dict[str, Callable[[Settings], Selector]] = {
    "semantic": lambda settings: SemanticRetrieval(settings.budget),
    "keep-last-5": lambda settings: KeepLastN(settings.budget, 5),
    "keep-last-5/polling-5": lambda settings: KeepLastN(settings.budget, 5, 5),
    "clear-tool-uses": lambda settings: ClearToolUses(settings.budget),
    "clear-tool-uses@B": lambda settings: ClearToolUses(settings.budget, trigger=settings.budget),
}
"""Baselines that call no model, by name."""


def selector_names() -> list[str]:
    """Every name that `make_selector` takes: policies first."""
    return [*POLICIES, *_BASELINES, *_SUMMARIZING]


def check_selector(name: str) -> None:
    """Raise InputError listing the names for an unknown one, UnavailableError where what it needs is missing."""
    if name in POLICIES or name in _BASELINES:
        return
    if name.partition("=")[0] not in _SUMMARIZING or name.endswith("="):
        known = ", ".join((*selector_names(), *(f"{base}=MODEL" for base in _SUMMARIZING)))
        raise InputError(f"unknown selector {name!r}", "selectors", known)


def label(name: str, settings: Settings) -> str:
    """The name as tables show it: with the summarizer, where the method uses one."""
    if name in _SUMMARIZING:
        return f"{name} [{EXTRACTIVE}]"
    base, _, model = name.partition("=")
    return f"{base} [{model}]" if base in _SUMMARIZING else name


def make_selector(name: str, settings: Settings) -> Selector:
    """A new selector for one run; raises like `check_selector`."""
    check_selector(name)
    if name in _BASELINES:
        return _BASELINES[name](settings)
    base, _, model = name.partition("=")
    if base in _SUMMARIZING:
        return _SUMMARIZING[base](settings, model or EXTRACTIVE)
    return PolicySelector(policy_by_name(name), settings.budget)
