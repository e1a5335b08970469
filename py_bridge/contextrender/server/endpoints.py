"""How jac-cloud serves our walkers: which routes there are, who may call them, and what an error looks like.

An error is `{"error": {"type", "message", "where", "accepted", "request_id"}}`, whatever it was; never a traceback, and
never what the caller sent.
"""

import json
from collections.abc import Mapping
from typing import Any

from contextrender.server import platform
from contextrender.settings import load

OPEN = ("/user/register", "/user/login")
"""What can be called without a token."""
_KEPT = ("/walker/", *OPEN, "/user/change_password", "/docs", "/openapi.json")
"""jac-cloud mounts more, much of it open to anyone: these are what a client needs."""

_ERRORS = {
    400: "The body is no JSON",
    401: "No token, or one that is not good",
    404: "No such session, snapshot or ref",
    409: "No branch begins as `known` says: send the whole conversation",
    413: "The request is too large",
    422: "An input is wrong: `where` and what is `accepted`",
    500: "Our mistake: the log has the request id",
    503: "The store can't be used now: try again",
    507: "No room left to store it",
}


class Served:
    """The specification that every walker of ours takes (jac-cloud's `__specs__`)."""

    entry_type = "ROOT"
    tags = ("contextrender",)
    responses = {status: {"description": told} for status, told in _ERRORS.items()}  # noqa: RUF012 - jac-cloud's form


def prepare() -> None:
    """Before the archetypes are loaded: `jac serve` has started jac-cloud, but not our store in it."""
    if _jac_cloud_runs() and not platform.started():
        platform.start(load().settings.data)


def publish(module: Mapping[str, Any]) -> None:
    """Serve what is registered, once the walkers of `module` are loaded. Nothing where jac-cloud doesn't run."""
    if _jac_cloud_runs():
        from jac_cloud.jaseci.main import FastAPI

        _harden(FastAPI.get(), module)


def _jac_cloud_runs() -> bool:
    try:
        from jac_cloud.jaseci.main import FastAPI
    except ImportError:
        return False
    return bool(FastAPI.is_enabled())


def _harden(app: Any, module: Mapping[str, Any]) -> None:
    """Prune the routes, describe ours, take our tokens, and answer errors in our form."""
    from fastapi.exceptions import RequestValidationError
    from jac_cloud.jaseci.security import authenticate
    from jac_cloud.plugin.implementation import api
    from pymongo.errors import PyMongoError
    from starlette.exceptions import HTTPException

    from contextrender.errors import ContextRenderError
    from contextrender.server.access import authenticated
    from contextrender.server.failures import answer_failure

    app.title, app.description = "ContextRender", "Renders what an agent's next model call needs, under a token budget."
    app.router.routes[:] = [route for route in app.router.routes if route.path.startswith(_KEPT)]
    for route in app.routes:
        walker = route.path.removeprefix("/walker/")
        if walker in module:
            route.summary, _, route.description = module[walker].__doc__.strip().partition("\n\n")
            route.name = route.operation_id = walker
        for dependency in route.dependant.dependencies if hasattr(route, "dependant") else ():
            if dependency.call is authenticate:  # FastAPI's own way of overriding costs 2 ms a request
                dependency.call = authenticated
    app.openapi_schema = None
    for kind in (ContextRenderError, PyMongoError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, answer_failure)
    api.ORJSONResponse = _json_response()


def _json_response() -> type:
    """A response that also takes what orjson refuses: lone surrogates, and whole numbers of any size."""
    from fastapi.responses import ORJSONResponse

    class AnyJSONResponse(ORJSONResponse):
        def render(self, content: Any) -> bytes:
            try:
                return super().render(content)
            except TypeError:
                return json.dumps(content, separators=(",", ":")).encode()

    return AnyJSONResponse
