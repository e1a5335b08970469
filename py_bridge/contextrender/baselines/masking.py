"""Baselines that keep every message and replace old results by a line: SWE-agent's and Anthropic's rules."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from contextrender.baselines.composed import Composed, altered
from contextrender.evaluation.cost import Usage
from contextrender.history import Entry
from contextrender.legality import Liberty
from contextrender.session import Session
from contextrender.tokens import message_tokens

_ALTERED: tuple[Liberty, ...] = ("altered results",)
CLEARED = "[Old tool result cleared]"


@dataclass
class KeepLastN:
    """SWE-agent's `last_n_observations`: the last n stay, the rest is one line each; moved every `polling` results.

    Its rule counts the task as the first observation and never removes it. It knows no budget: B only flags.
    """

    budget: int
    n: int = 5
    polling: int = 1
    spent: Usage = field(default_factory=Usage)
    liberties: Collection[Liberty] = _ALTERED

    def decide(self, session: Session, coming: Mapping[int, float]) -> Composed:
        history = session.history
        observations = len(history.results) + 1
        removed = max(0, observations // self.polling * self.polling - self.n)
        shown = history.whole()
        for entry in history.results[: max(0, removed - 1)]:
            lines = len(entry.text.splitlines())
            shown[entry.position] = altered(
                entry, f"Old environment output: ({lines} lines omitted)", session.encoding
            )
        return Composed(session, history, len(history), shown, self.budget)

    def close(self) -> None:
        pass


@dataclass
class ClearToolUses:
    """Anthropic's `clear_tool_uses_20250919` by its documentation.

    When the input exceeds `trigger` tokens, all results but those of the latest `keep` tool uses are replaced by a
    placeholder, oldest first; those of `exclude_tools` are never cleared. Nothing is cleared when that would free
    less than `clear_at_least` tokens. The input counted is the system messages and the whole history.
    """

    budget: int
    trigger: int = 100_000
    keep: int = 3
    clear_at_least: int = 0
    exclude_tools: Sequence[str] = ()
    spent: Usage = field(default_factory=Usage)
    liberties: Collection[Liberty] = _ALTERED

    def decide(self, session: Session, coming: Mapping[int, float]) -> Composed:
        history = session.history
        shown = history.whole()
        if sum(tokens for _, tokens in shown) > self.trigger:
            old = history.results[: max(0, len(history.results) - self.keep)]
            cleared = [entry for entry in old if self._clears(entry)]
            price = message_tokens(CLEARED, session.encoding)
            if sum(entry.tokens - price for entry in cleared) >= self.clear_at_least:
                for entry in cleared:
                    shown[entry.position] = altered(entry, CLEARED, session.encoding)
        return Composed(session, history, len(history), shown, self.budget)

    def _clears(self, entry: Entry) -> bool:
        return entry.call is None or entry.call.tool not in self.exclude_tools

    def close(self) -> None:
        pass
