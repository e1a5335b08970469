"""What makes a message that arrives again the same one.

Clients resend a turn with small changes: ids lose characters, arguments are serialised anew, content is a string here
and a list of parts there, cache marks move, reasoning is dropped. Identity is what was said, without these.
"""

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from contextrender.events import Call
from contextrender.transcripts.jsontext import dump


def plain_id(call_id: str) -> str:
    """A call id without what clients strip from it."""
    return call_id if call_id.isalnum() else "".join(filter(str.isalnum, call_id)) or call_id


def plain_arguments(arguments: str) -> str:
    """Arguments without their spacing, where they are a JSON object."""
    if not arguments.startswith("{"):
        return arguments
    try:
        return dump(json.loads(arguments))
    except (ValueError, RecursionError):
        return arguments


def identity(kind: str, said: Sequence[str], calls: Sequence[Call], call_id: str = "") -> str:
    """The identity of an event. `said`: its texts, and its other blocks as JSON without marks, in order."""
    texts = "\n".join(said)
    return dump(
        [
            kind,
            texts.strip() if kind == "assistant" else texts,
            [[plain_id(call.call_id), call.name, plain_arguments(call.arguments)] for call in calls],
            plain_id(call_id),
        ]
    )


def next_digest(digest: str, fingerprint: bytes) -> str:
    """The digest of a list of events that goes on with one more; "" is the digest of none."""
    return blake2b(digest.encode() + fingerprint, digest_size=16).hexdigest()


class Begun(NamedTuple):
    """How a conversation begins that the server has: how many events, and their digest."""

    events: int = 0
    digest: str = ""
