"""Headers on their way through: all of them, but for those that belong to one connection."""

import hashlib
from collections.abc import Iterable, Mapping

Headers = list[tuple[bytes, bytes]]

OURS = b"x-contextrender"
"""Prefix of our own headers; they are not sent to the provider."""
_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)


def _named_by_connection(headers: Iterable[tuple[bytes, bytes]]) -> set[bytes]:
    """Headers that `Connection` declares to be for this hop."""
    values = (value for name, value in headers if name.lower() == b"connection")
    return {name.strip().lower() for value in values for name in value.split(b",")}


def request_headers(headers: Headers, plain: bool) -> Headers:
    """What the provider gets. `plain`: ask for an answer that is not compressed, because we read it too."""
    dropped = _HOP | _named_by_connection(headers) | {b"host", b"content-length", b"expect"}
    if plain:
        dropped |= {b"accept-encoding"}
    kept = [(name, value) for name, value in headers if not _dropped(name.lower(), dropped)]
    return [*kept, (b"accept-encoding", b"identity")] if plain else kept


def _dropped(name: bytes, dropped: Iterable[bytes]) -> bool:
    return name in dropped or name.startswith(OURS)


def response_headers(headers: Headers) -> Headers:
    """What the client gets of the provider's headers."""
    dropped = _HOP | _named_by_connection(headers)
    return [(name, value) for name, value in headers if not _dropped(name.lower(), dropped)]


def header_map(headers: Headers) -> dict[str, str]:
    """Headers by their lower-case name, the first of each."""
    found: dict[str, str] = {}
    for name, value in headers:
        found.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    return found


def owner_of(headers: Mapping[str, str]) -> str:
    """Who sends: 16 hex digits of a hash of the provider key, so that two keys never share a session.

    The key itself is kept nowhere. All requests without one have the same owner.
    """
    key = headers.get("authorization") or headers.get("x-api-key") or headers.get("api-key") or ""
    return hashlib.blake2b(key.encode(), digest_size=8, person=b"ctxrender-owner").hexdigest()
