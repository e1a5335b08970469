"""The proxy as an ASGI application: takes a client's request, decides with the keeper, sends it on, passes the answer.

Whatever fails here, or takes too long, the client's own bytes reach the provider, and the answer's headers say so.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx

from contextrender.proxy import metrics
from contextrender.proxy.downstream import Downstream, HungUpError, Receive, Scope, Send, TooLargeError
from contextrender.proxy.headers import OURS, Headers, header_map, request_headers, response_headers
from contextrender.proxy.keeper import Keeper, Prepared, Ticket
from contextrender.proxy.listener import Listener
from contextrender.proxy.routes import Route, route
from contextrender.proxy.settings import ProxySettings
from contextrender.proxy.upstream import Upstream, UpstreamError, raw_body

log = logging.getLogger("contextrender.proxy")

OWNER = "contextrender.owner"
"""In a request's scope: whose sessions it uses, if not the local user's."""
THREADS = 8
RECORD_SECONDS = 1.0
"""How long the end of an answer waits for its being kept."""


@dataclass(slots=True)
class _Exchange:
    """One request on its way."""

    route: Route
    method: str
    query: bytes
    headers: Headers
    client: Downstream
    owner: str


class Proxy:
    """The ASGI application. `handles` says which paths are its own, for a server that has others."""

    def __init__(self, settings: ProxySettings, keeper: Keeper) -> None:
        self._settings, self._keeper = settings, keeper
        self._upstream = Upstream(settings)
        self._threads = ThreadPoolExecutor(THREADS, "proxy")

    async def aclose(self) -> None:
        """Close all connections to providers; what is being kept is finished."""
        await self._upstream.aclose()
        await asyncio.to_thread(self._threads.shutdown)

    @staticmethod
    def handles(path: str) -> bool:
        """Whether a path is the proxy's."""
        return path.startswith(("/v1/", "/s/"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        client = Downstream(receive, send)
        headers: Headers = list(scope["headers"])
        found = route((scope.get("raw_path") or scope["path"].encode()).decode("latin-1"), header_map(headers))
        if found is None:
            await client.fail("chat", 404, "no such path; the proxy serves /v1/...")
            return
        query, owner = scope.get("query_string", b""), scope.get(OWNER, "")
        exchange = _Exchange(found, scope["method"], query, headers, client, owner)
        try:
            if found.turn and scope["method"] == "POST":
                await self._turn(exchange)
            else:
                await client.while_connected(self._pass(exchange, client.chunks(), False))
        except HungUpError:
            metrics.HANGUPS.labels(found.wire).inc()
        except TooLargeError:
            most = self._settings.max_body >> 20
            await client.fail(found.wire, 413, f"the request is larger than {most} MiB (option --max-body)")
        except UpstreamError as error:
            metrics.UPSTREAM.labels(found.wire, "none").inc()
            await client.fail(found.wire, error.status, str(error))
        except Exception as error:
            log.error("a request failed: %s", type(error).__name__, exc_info=error)
            await client.fail(found.wire, 502, "internal error")

    # --- model calls -------------------------------------------------------------------------------------------------

    async def _turn(self, exchange: _Exchange) -> None:
        raw = await exchange.client.body(self._settings.max_body)
        began = time.perf_counter()
        prepared = await self._prepare(exchange, raw)
        metrics.PREPARE.observe(time.perf_counter() - began)
        outcome = "passed" if prepared.reason else "rendered"
        metrics.REQUESTS.labels(exchange.route.wire, outcome, prepared.reason or "selected").inc()
        metrics.SAVED.labels(exchange.route.wire).inc(max(0, prepared.full_tokens - prepared.sent_tokens))
        listener = Listener(prepared.ticket.form) if prepared.ticket else None
        heard = False
        try:
            work = self._pass(exchange, prepared.content, True, told_headers(prepared), listener, prepared.ticket)
            await exchange.client.while_connected(work)
            heard = True
        finally:
            if prepared.ticket and listener and not heard:
                self._in_thread(self._record, prepared.ticket, listener, False)

    async def _prepare(self, exchange: _Exchange, raw: bytes) -> Prepared:
        """What to send; the client's own bytes where anything goes wrong or takes too long."""
        headers = header_map(exchange.headers)
        if headers.get("content-encoding", "identity") != "identity":
            return Prepared(raw, "compressed")
        where = exchange.route
        work = self._in_thread(self._keeper.prepare, where.wire, raw, headers, where.session, exchange.owner)
        await asyncio.wait((work,), timeout=self._settings.render_seconds)
        if not work.done():
            work.add_done_callback(_look_away)
            return Prepared(raw, "slow")
        error = work.exception()
        if error is None:
            return work.result()
        log.warning("a request is passed on as it came: %s", type(error).__name__, exc_info=error)
        return Prepared(raw, "failed")

    def _in_thread[**P, T](self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "asyncio.Future[T]":
        return asyncio.get_running_loop().run_in_executor(self._threads, lambda: work(*args, **kwargs))

    def _record(self, ticket: Ticket, listener: Listener, heard: bool) -> None:
        """Keep the answer; a failure is logged, and costs the client nothing."""
        try:
            reply = listener.reply()
            if reply is not None and (reply.complete or not heard):
                self._keeper.record(ticket, reply, heard)
        except Exception as error:
            log.warning("an answer was not kept: %s", type(error).__name__, exc_info=error)

    # --- passing on --------------------------------------------------------------------------------------------------

    async def _pass(
        self,
        exchange: _Exchange,
        content: bytes | AsyncIterator[bytes],
        turn: bool,
        told: Headers | None = None,
        listener: Listener | None = None,
        ticket: Ticket | None = None,
    ) -> None:
        """Send a request on and its answer back. Raises UpstreamError."""
        where = exchange.route
        url = self._settings.upstreams.url(where.wire, where.rest, exchange.query)
        headers = request_headers(exchange.headers, plain=turn)
        if isinstance(content, bytes):
            headers.append((b"content-length", str(len(content)).encode()))
        elif length := dict(exchange.headers).get(b"content-length"):
            headers.append((b"content-length", length))
        elif exchange.method in ("GET", "HEAD", "DELETE", "OPTIONS"):
            content = b""
        async with self._upstream.send(exchange.method, url, headers, content) as response:
            metrics.UPSTREAM.labels(where.wire, f"{response.status_code // 100}xx").inc()
            await self._answer(exchange.client, response, told or [], listener, ticket)

    async def _answer(
        self,
        client: Downstream,
        response: httpx.Response,
        told: Headers,
        listener: Listener | None,
        ticket: Ticket | None,
    ) -> None:
        """Pass an answer on as it comes; what the model said is kept before its end is told."""
        headers = response.headers.raw
        if listener:
            listener.begin(response.status_code, header_map(headers))
        await client.start(response.status_code, [*response_headers(headers), *told])
        async for chunk in raw_body(response):
            if listener:
                listener.feed(chunk)
            await client.write(chunk)
        if listener and ticket:
            await asyncio.wait((self._in_thread(self._record, ticket, listener, True),), timeout=RECORD_SECONDS)
        await client.end()


def told_headers(prepared: Prepared) -> Headers:
    """What the answer says of what we did: rendered, or passed and why; the session and the snapshot."""
    told = {"": "passed" if prepared.reason else "rendered", "-reason": prepared.reason}
    if prepared.ticket:
        told |= {"-session": prepared.ticket.sid, "-snapshot": prepared.ticket.snapshot}
    return [(OURS + name.encode(), value.encode()) for name, value in told.items() if value]


def _look_away(work: asyncio.Future[Prepared]) -> None:
    """Nobody waits for this any more; asyncio would complain of an error that nobody has seen."""
    if not work.cancelled():
        work.exception()
