"""The internal form of a transcript: one event a message or tool result, whatever the wire format."""

import hashlib
from dataclasses import dataclass, field

OUTSIDE_ROLES = ("system", "developer")
"""Roles that are always kept and stand outside the history budget."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of an assistant message. `payload` is its wire JSON, "" where it is the plain form."""

    name: str
    arguments: str
    call_id: str = ""
    payload: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """A message (any role) or a tool result (role `tool`).

    `text` is what the model reads; `payload` is the wire JSON with marks where text and calls stand, "" where the
    message is the plain form; `call_id` names the call that a result answers; `identity` decides whether a message
    that arrives again is the same one. `beside` is other text that the model reads (reasoning, refusals, unknown
    blocks): priced, never matched for reuse; `media_tokens` is the price of what is no text (images, files).
    """

    role: str
    text: str
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    name: str = ""
    payload: str = ""
    identity: str = field(default="", repr=False)
    beside: str = ""
    media_tokens: int = 0

    @property
    def fingerprint(self) -> bytes:
        """16 bytes that two events share exactly when they are the same message."""
        return hashlib.blake2b(self.identity.encode("utf-8", "surrogatepass"), digest_size=16).digest()
