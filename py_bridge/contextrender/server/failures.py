"""What a caller is told when something goes wrong: status, headers and body of an error."""

import json
import logging
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from pymongo.errors import DuplicateKeyError, PyMongoError
from starlette.exceptions import HTTPException

from contextrender.errors import AccessError, ContextRenderError, DivergedError, InputError, NotFoundError
from contextrender.server.access import WHERE
from contextrender.store.errors import StoreFullError

log = logging.getLogger("contextrender.server")

REQUEST_ID = "x-request-id"
_RETRY_SECONDS = "1"


async def answer_failure(request: Request, error: Exception) -> Response:
    """The response to a request that ended with this error."""
    status, said = failure(error)
    if status >= 500:
        log.error("%s", type(error).__name__, exc_info=error)
    headers = {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status == 503:
        headers["retry-after"] = _RETRY_SECONDS
    request_id = request.scope.get(REQUEST_ID, "")
    return Response(error_json(said, request_id), status, headers, "application/json")


def error_json(said: dict[str, str], request_id: str) -> bytes:
    """The body of an error."""
    return json.dumps({"error": {**said, "request_id": request_id}}).encode()


def failure(error: Exception) -> tuple[int, dict[str, str]]:
    """Status, and {type, message, where, accepted}. Nothing of it shows our code or the request's content."""
    match error:
        case InputError():
            return 422, told("input", error.what, error.where, error.accepted)
        case DivergedError():
            return 409, told("diverged", str(error))
        case NotFoundError():
            return 404, told("not_found", str(error))
        case AccessError():
            return 401, told("access", str(error))
        case StoreFullError():
            return 507, told("unavailable", "no room left to store it; nothing was stored")
        case PyMongoError() if not isinstance(error, DuplicateKeyError):
            why = f"the store can't be used now ({type(error).__name__}); nothing was stored"
            return 503, told("unavailable", why)
        case ContextRenderError():
            return 503, told("unavailable", str(error))
        case RequestValidationError():
            return _invalid(error)
        case HTTPException(status_code=401 | 403):
            return 401, told("access", f"no token, or one that isn't good; needed: {WHERE}")
        case HTTPException():
            return error.status_code, told("input" if error.status_code < 500 else "internal", str(error.detail))
        case _:
            return 500, told("internal", "internal error; the server's log has the request id")


def told(kind: str, message: str, where: str = "", accepted: str = "") -> dict[str, str]:
    """What an error says, by its fields."""
    return {"type": kind, "message": message, "where": where, "accepted": accepted}


def _invalid(error: RequestValidationError) -> tuple[int, dict[str, str]]:
    problems: list[Any] = list(error.errors())
    first = problems[0]
    if first["type"] == "json_invalid":
        return 400, told("input", "the body is no JSON", "body", "a JSON object")
    where = ".".join(str(part) for part in first["loc"] if part != "body") or "body"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return 422, told("input", first["msg"] + more, where[:200], "see /openapi.json")
