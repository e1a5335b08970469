"""Runs the server: the walkers with the proxy, or the proxy alone, until it is told to stop."""

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable

import uvicorn
from uvicorn.supervisors import Multiprocess

from contextrender.errors import InputError, UnavailableError
from contextrender.policy import policy_by_name
from contextrender.proxy.settings import ProxySettings, Upstreams
from contextrender.server import logs, metrics, platform
from contextrender.server.hosts import is_loopback
from contextrender.settings import Settings, load, variable

log = logging.getLogger("contextrender.server")

GRACE_SECONDS = 30
"""How long answers in flight may take after a request to stop."""
EXPIRE_SECONDS = 60
"""How often sessions whose time is over are looked for."""
_ALONE = "CONTEXTRENDER_PROXY_ALONE"


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one. Raises UnavailableError for an address that can't be used."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise UnavailableError(f"port {port} on {host} can't be used: {error.strerror or error}") from error
    listening.listen(1024)
    return listening


def serve(settings: Settings, listening: socket.socket, walkers: bool = True) -> None:
    """Serve on a socket until SIGINT or SIGTERM; requests in flight are finished, then the process exits with 0.

    walkers: serve jac-cloud's endpoints beside the proxy. Raises InputError for settings that don't go together, and
    whatever the store raises when it can't be opened.
    """
    os.umask(0o077)
    if settings.workers == 1:
        _run(uvicorn.Server(_config(application(settings, walkers))), listening)
        return
    _running(settings).close()  # fails here and not in each worker
    for key in Settings.model_fields:
        value = getattr(settings, key)
        os.environ[variable(key)] = "" if value is None else str(value)
    os.environ[_ALONE] = "" if walkers else "1"
    metrics.share_between_processes()
    config = _config("contextrender.server.serving:worker", settings.workers)
    Multiprocess(config, uvicorn.Server(config).run, [listening]).run()


def worker() -> object:
    """The application of one of several processes, which are told the settings by the environment."""
    return application(load().settings, not os.environ.get(_ALONE))


def application(settings: Settings, walkers: bool) -> object:
    """The ASGI application. Opens the store; not twice in a process with different folders."""
    running = _running(settings)
    logs.set_up(settings.log_level)
    from contextrender.proxy.app import Proxy
    from contextrender.proxy.keeper import Keeper
    from contextrender.server import tokens
    from contextrender.server.gate import Gate, Rules

    sessions = running.sessions(
        memory=settings.memory << 20,
        keep=settings.explainable,
        policy=settings.policy,
        budget=settings.budget,
        embedder=settings.embedder or None,
        days=settings.retention_days,
    )
    app = None
    if walkers:
        tokens.local_token(settings.data)
        from jac_cloud.jaseci.main import FastAPI

        from contextrender.graph import service  # noqa: F401 - its walkers are the endpoints

        app = FastAPI.get()
    _warm_up(settings)
    threading.Thread(target=_expire, args=(sessions.expire,), daemon=True, name="expire").start()
    rules = Rules(is_loopback(settings.host), settings.registration, settings.max_body << 20)
    return Gate(running, rules, Proxy(_proxy_settings(settings), Keeper(sessions, running.owner)), app)


def _running(settings: Settings) -> platform.Platform:
    policy_by_name(settings.policy)
    _proxy_settings(settings)
    running = platform.start(settings.data, settings.busy_timeout)  # before anything that loads the graph
    if is_loopback(settings.host):
        return running
    from contextrender.server import tokens

    if not any(token.name != tokens.LOCAL_NAME and not token.over for token in tokens.tokens()):
        raise InputError(
            f"{settings.host} can be reached by other machines, and there is no token yet",
            "host",
            "127.0.0.1, or another address once `contextrender token create NAME` has made a token",
        )
    return running


def _proxy_settings(settings: Settings) -> ProxySettings:
    upstreams = Upstreams.of(settings.upstream, settings.upstream_responses, settings.upstream_anthropic)
    return ProxySettings(upstreams, settings.render_ms / 1000, max_body=settings.max_body << 20)


def _config(app: object, workers: int | None = None) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        factory=isinstance(app, str),
        workers=workers,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=GRACE_SECONDS,
        lifespan="on",
        http="httptools",
        ws="none",
    )


def _run(server: uvicorn.Server, listening: socket.socket) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn takes them over, and raises them again when it has ended
        signal.signal(number, lambda *_: sys.exit(0))
    try:
        server.run(sockets=[listening])
    finally:
        platform.running().close()


def _expire(expire: Callable[[], int]) -> None:
    """Delete sessions whose time is over, for ever."""
    while True:
        try:
            while expire():
                pass
        except Exception as error:
            log.warning("sessions whose time is over were not deleted", exc_info=error)
        time.sleep(EXPIRE_SECONDS)


def _warm_up(settings: Settings) -> None:
    """Load what the first render needs, so that it isn't the slow one."""
    from contextrender.session import Session

    session = Session(settings.policy, settings.budget, settings.embedder or None)
    messages = [{"role": "user", "content": "Look it up."}]
    for number in range(2):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})  # type: ignore[dict-item]
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"Order ORD_{number} " * 4_000})
    session.ingest(messages)
    session.render()
