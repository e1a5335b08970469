"""What the client and its host allow in a render."""

from dataclasses import dataclass

from contextrender.compaction.summarizer import Summarizer
from contextrender.tokens import DEFAULT_ENCODING


@dataclass(frozen=True, slots=True)
class Host:
    """contract: the system prompt may be extended, so a session begins with a stable start behind it. tail_notes: our
    own user messages may stand at the tail. recall: something redeems raw refs, so they may be shown. summarizer:
    writes checkpoint notes and shortens results that are too large; without one fixed rules do."""

    contract: bool = False
    tail_notes: bool = True
    recall: bool = False
    summarizer: Summarizer | None = None
    encoding: str = DEFAULT_ENCODING


BARE = Host()
"""No contract, notes at the tail, nothing to redeem a ref."""
