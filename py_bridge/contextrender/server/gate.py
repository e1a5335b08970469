"""In front of everything: request ids, who may come in at all, sizes, health, figures and the log. As ASGI.

Behind it are the proxy (`/v1/...`, `/s/<key>/v1/...`), which anyone on this machine may use with a provider's key, and
jac-cloud with the walkers, which ask for a token themselves.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass

from contextrender.proxy.app import OWNER, Proxy
from contextrender.proxy.downstream import App, Downstream, HungUpError, Message, Receive, Scope, Send, TooLargeError
from contextrender.proxy.headers import Headers, header_map
from contextrender.proxy.routes import route
from contextrender.server import metrics
from contextrender.server.access import bearer
from contextrender.server.endpoints import OPEN
from contextrender.server.failures import REQUEST_ID, error_json, failure, told
from contextrender.server.hosts import is_foreign_page, names_this_machine
from contextrender.server.limits import Tries
from contextrender.server.platform import Platform
from contextrender.server.tokens import find_token

log = logging.getLogger("contextrender.access")

TOKEN_HEADER = "x-contextrender-token"
"""Where a client of the proxy shows our token, for Authorization is its provider's."""
_ASK_THEMSELVES = ("/walker/", "/user/")
"""Paths whose endpoints ask for a token, but for OPEN."""
_TRIES, _SECONDS = 10, 60
_TEXT = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")


@dataclass(frozen=True, slots=True)
class Rules:
    """local: only this machine is served, so no token is needed for the proxy. max_body in bytes."""

    local: bool = True
    registration: bool = False
    max_body: int = 64 << 20


class _Watched:
    """Sends on, remembers the status, and names the request in the answer."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send, self._id = send, request_id.encode()
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            if REQUEST_ID not in header_map(headers):  # a provider's own goes before ours
                message["headers"] = [*headers, (REQUEST_ID.encode(), self._id)]
        await self._send(message)


class Gate:
    """The whole server. Without `walkers` (jac-cloud's application) it is the proxy alone."""

    def __init__(self, platform: Platform, rules: Rules, proxy: Proxy, walkers: App | None) -> None:
        self._platform, self._rules, self._proxy, self._walkers = platform, rules, proxy, walkers
        self._tries = Tries(_TRIES, _SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._proxy.aclose()
        metrics.forget_process()
        await send({"type": "lifespan.shutdown.complete"})

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, request_id = time.perf_counter(), secrets.token_hex(8)
        scope[REQUEST_ID] = request_id
        watched = _Watched(send, request_id)
        client = Downstream(receive, watched)
        try:
            await self._admitted(scope, receive, watched, client)
        except HungUpError:
            pass
        except TooLargeError:
            most = self._rules.max_body >> 20
            await self._refuse(scope, client, 413, f"the request is larger than {most} MiB (setting max_body)")
        except Exception as error:
            log.error("a request failed", exc_info=error, extra={"request_id": request_id})
            if not watched.status:
                await self._refuse(scope, client, *_plain(error))
        finally:
            self._note(scope, watched.status, time.perf_counter() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        path = scope["path"]
        known = path if path.startswith("/walker/") and status != 404 else ""
        endpoint = known or ("proxy" if Proxy.handles(path) else "other")
        metrics.REQUESTS.labels(endpoint, f"{status // 100}xx" if status else "none").observe(seconds)
        shown = "/s/-" if path.startswith("/s/") else path[:200]  # a session's name is in there
        fields = {"request_id": scope[REQUEST_ID], "method": scope["method"], "path": shown, "status": status}
        log.info("request", extra={**fields, "ms": round(seconds * 1000, 1)})

    async def _admitted(self, scope: Scope, receive: Receive, send: Send, client: Downstream) -> None:
        headers, path = header_map(list(scope["headers"])), scope["path"]
        if self._rules.local and not names_this_machine(headers.get("host", "")):
            await self._refuse(scope, client, 403, "this machine only is served: unknown Host header")
        elif self._rules.local and is_foreign_page(headers.get("origin", "")):
            await self._refuse(scope, client, 403, "pages from other machines are not served")
        elif path == "/healthz":
            alive = await asyncio.to_thread(self._platform.alive)
            await client.answer(*((200, b'{"status":"ok"}') if alive else (503, b'{"status":"no store"}')))
        elif await self._known(scope, headers, client):
            await self._served(scope, receive, send, client)

    async def _known(self, scope: Scope, headers: Mapping[str, str], client: Downstream) -> bool:
        """Whether the caller may go on: anyone on this machine, or who shows a token; the walkers ask for theirs."""
        path = scope["path"]
        if self._rules.local or path.startswith(_ASK_THEMSELVES):
            return True
        shown = headers.get(TOKEN_HEADER) or ("" if Proxy.handles(path) else bearer(headers.get("authorization", "")))
        token = await asyncio.to_thread(find_token, shown)
        if token is None:
            needed = f"{TOKEN_HEADER}: a token from `contextrender token create`"
            await self._refuse(scope, client, 401, f"no token, or one that isn't good; needed: {needed}")
            return False
        scope[OWNER] = token.owner
        return True

    async def _served(self, scope: Scope, receive: Receive, send: Send, client: Downstream) -> None:
        path = scope["path"]
        if path == "/metrics":
            await client.start(200, [_TEXT])
            await client.write(metrics.text())
            await client.end()
        elif Proxy.handles(path):
            await self._proxy(scope, receive, send)
        elif self._walkers is None:
            await self._refuse(scope, client, 404, "no such path; the proxy serves /v1/...")
        elif path not in OPEN or await self._may_try(scope, client):
            body = await client.body(self._rules.max_body)
            await self._walkers(scope, _replay(body, receive), send)

    async def _may_try(self, scope: Scope, client: Downstream) -> bool:
        if scope["path"] == "/user/register" and not self._rules.registration:
            await self._refuse(scope, client, 403, "registration is off (setting registration)")
            return False
        source = (scope.get("client") or ("",))[0]
        if seconds := self._tries.wait(source):
            again = [(b"retry-after", str(int(seconds) + 1).encode())]
            await self._refuse(scope, client, 429, "too many tries; wait a little", again)
            return False
        return True

    async def _refuse(
        self, scope: Scope, client: Downstream, status: int, message: str, headers: Headers | None = None
    ) -> None:
        if client.started:
            return
        if Proxy.handles(scope["path"]):  # in the client's own wire format
            found = route(scope["path"], {})
            await client.fail(found.wire if found else "chat", status, message)
            return
        if status == 413:
            headers = [(b"connection", b"close")]
        said = told("access" if status < 404 else "input", message)
        await client.answer(status, error_json(said, scope[REQUEST_ID]), headers)


def _plain(error: Exception) -> tuple[int, str]:
    status, said = failure(error)
    return status, said["message"]


def _replay(body: bytes, receive: Receive) -> Receive:
    """Gives the body that was read, then what comes."""
    waiting = [body]

    async def again() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return again
