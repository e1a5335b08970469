"""Who calls: one of our tokens, or what jac-cloud's /user/login gave."""

from typing import Any

from fastapi import Request
from jac_cloud.core.archetype import NodeAnchor
from jac_cloud.jaseci.models import User
from jac_cloud.jaseci.security import authenticate

from contextrender.errors import AccessError
from contextrender.server.tokens import PREFIX, find_token

WHERE = "a token from `contextrender token create`, or from /user/login, in the header Authorization: Bearer ..."


def authenticated(request: Request) -> Any:
    """Put the caller's user and root on the request, as jac-cloud's `authenticate` does. Raises AccessError."""
    text = bearer(request.headers.get("authorization") or "")
    if not text.startswith(PREFIX):
        return authenticate(request)
    token = find_token(text)
    root = NodeAnchor.Collection.find_by_id(token.owner) if token else None
    if token is None or root is None:
        raise AccessError(f"this token is unknown, revoked or over; needed: {WHERE}")
    request._user = User.Collection.find_by_email(token.email)  # type: ignore[attr-defined]
    request._root = root  # type: ignore[attr-defined]
    return request._user, root  # type: ignore[attr-defined]


def bearer(header: str) -> str:
    """The token in an Authorization header; "" where it has none."""
    scheme, _, text = header.partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""
