"""What the evaluation asks of a context-management method, ours or another's."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from contextrender.evaluation.cost import Usage
from contextrender.history import Shown
from contextrender.legality import Liberty
from contextrender.session import Session
from contextrender.trace import Message


class Decision(Protocol):
    """What one method shows before one model call; `session.Plan` is one.

    shown: the complete input in order, pieces with their tokens; pieces are equal exactly when their bytes are.
    tokens: what the budget counts. kept: positions of the tool results shown with their complete original text
    (App. B.4: a shortened or summarised one does not count).
    """

    @property
    def shown(self) -> Sequence[Shown]: ...
    @property
    def tokens(self) -> int: ...
    @property
    def over_budget(self) -> bool: ...
    @property
    def kept(self) -> Sequence[int]: ...
    def messages(self) -> list[Message]:
        """The rendered messages."""


class Selector(Protocol):
    """One method at work on one run. It is asked once before each model call, in order, and may remember.

    spent: tokens of the model and embedding calls it has made for itself so far (App. C.2). liberties: what its
    renders may do that ours never do.
    """

    spent: Usage
    liberties: Collection[Liberty]

    def decide(self, session: Session, coming: Mapping[int, float]) -> Decision:
        """What to show of `session.history`. coming: 1.0 by position of each result that the next turn reuses; only
        the clairvoyant bound may look at it."""

    def close(self) -> None:
        """The run is over."""
