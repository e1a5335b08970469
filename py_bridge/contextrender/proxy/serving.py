"""Serves the proxy alone on this machine, until it is told to stop."""

import logging
import signal
import socket
import sys
from ipaddress import ip_address

import uvicorn
from prometheus_client import generate_latest

from contextrender.errors import UnavailableError
from contextrender.proxy.app import Proxy
from contextrender.proxy.downstream import Downstream, Receive, Scope, Send
from contextrender.proxy.headers import header_map
from contextrender.proxy.keeper import Keeper
from contextrender.proxy.settings import ProxySettings
from contextrender.server.platform import Platform
from contextrender.session import Session

HOST = "127.0.0.1"
GRACE_SECONDS = 30
"""How long answers in flight may take after a request to stop."""
_TEXT = [(b"content-type", b"text/plain; charset=utf-8")]


def is_local(host: str) -> bool:
    """Whether a Host header names this machine; another one is a web page's trick (DNS rebinding)."""
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    if name.lower() == "localhost":
        return True
    try:
        return ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


class LocalProxy:
    """The proxy with `/healthz` and `/metrics`, for clients on this machine only."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            client = Downstream(receive, send)
            if not is_local(header_map(scope["headers"]).get("host", "")):
                await client.fail("chat", 403, "the proxy serves this machine only: unknown Host header")
                return
            if scope["path"] == "/healthz":
                await client.answer(200, b'{"status":"ok"}')
                return
            if scope["path"] == "/metrics":
                await client.start(200, _TEXT)
                await client.write(generate_latest())
                await client.end()
                return
        await self._proxy(scope, receive, send)


def warm_up(settings: ProxySettings) -> None:
    """Load what the first render needs, so that it isn't the slow one."""
    session = Session(settings.policy, settings.budget)
    messages = [{"role": "user", "content": "Look it up."}]
    for number in range(2):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})  # type: ignore[dict-item]
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"Order ORD_{number} " * 4_000})
    session.ingest(messages)
    session.render()


def listen(port: int) -> socket.socket:
    """A socket on this machine's loopback; port 0 takes a free one. Raises UnavailableError for a port in use."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        raise UnavailableError(f"port {port} on {HOST} can't be used: {error.strerror}") from error
    listening.listen(1024)
    return listening


def serve(settings: ProxySettings, listening: socket.socket, platform: Platform) -> None:
    """Serve on a socket until SIGINT or SIGTERM; requests in flight are finished, then the process exits with 0."""
    for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn takes them over, and raises them again when it has ended
        signal.signal(number, lambda *_: sys.exit(0))
    warm_up(settings)
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # a provider's cut stream is no error of ours
    sessions = platform.sessions(policy=settings.policy, budget=settings.budget)
    keeper = Keeper(sessions, platform.owner)
    config = uvicorn.Config(
        LocalProxy(Proxy(settings, keeper)),
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=GRACE_SECONDS,
        lifespan="on",
        http="httptools",
        ws="none",
    )
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        platform.close()
