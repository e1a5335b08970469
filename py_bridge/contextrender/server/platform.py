"""jac-cloud with our store in it: started once a process, before any of our archetypes is loaded.

    platform = start(data)          # a folder
    sessions = platform.sessions()
    sessions.open_session(platform.owner, key="my-run")

jac-cloud reads its settings when its modules are imported, some from the environment only, and what a process has
imported can't be taken back: `start` sets them where they ended up, whoever imported jac-cloud first.
"""

import functools
import gc
import os
import secrets
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextrender.errors import UnavailableError

if TYPE_CHECKING:
    from contextrender.server.sessions import Sessions
    from contextrender.store import Store

STORE_FILE = "contextrender.db"
SECRET_FILE = "secret"

_INDEX = {"keys": [("archetype.sid", 1), ("archetype.ver", 1)]}
_GC = (200_000, 50, 1_000)
"""Loading a session makes many objects that stay: collecting among them at Python's pace takes most of the time."""


class Platform:
    """The running jac-cloud. `store` is None where MongoDB is used (DATABASE_HOST); `owner` is the local user."""

    def __init__(self, data: Path, store: "Store | None", owner: str) -> None:
        self.data, self.store, self.owner = data, store, owner
        self.served: Sessions | None = None
        """What the walkers answer with."""

    def sessions(self, **options: Any) -> "Sessions":
        """The stored sessions, with the options of `Sessions`; the walkers use them from now on."""
        from contextrender.server.sessions import Sessions

        self.served = Sessions(**options)
        return self.served

    def alive(self) -> bool:
        """Whether the store answers."""
        from jac_cloud.jaseci.datasources.collection import Collection
        from pymongo.errors import PyMongoError

        try:
            Collection.get_collection("contextrender_token").find_one({"_id": ""})
        except PyMongoError:
            return False
        return True

    def close(self) -> None:
        """Close the store."""
        if self.store is not None:
            self.store.close()


def started() -> bool:
    """Whether `start` was called."""
    return _started is not None


def running() -> Platform:
    """What `start` has started. Raises UnavailableError before that."""
    if _started is None:
        raise UnavailableError("no server runs in this process: start it with `contextrender serve`")
    return _started


_started: Platform | None = None


def start(data: Path, busy_timeout: float = 5.0) -> Platform:
    """Put the store of this folder into jac-cloud and start it; returns what is running.

    The folder is made (0700) when it isn't there. Raises UnavailableError when another folder's store runs in this
    process, or our graph was loaded without jac-cloud; StoreError's kinds for a file that can't be used.
    """
    global _started  # noqa: PLW0603 - jac-cloud itself is one a process
    data = data.expanduser().absolute()
    if _started is not None:
        if _started.data != data:
            raise UnavailableError(f"this process serves {_started.data} already; use another process for {data}")
        return _started
    secret = private_text(data / SECRET_FILE, lambda: secrets.token_urlsafe(48))
    for name, value in _environment(data).items():
        os.environ.setdefault(name, value)
    import contextrender.jac_runtime  # noqa: F401 - before jac_cloud, which imports it in a circle

    store = _connect(data, busy_timeout)
    try:
        _configure(secret)
        from contextrender.server import tokens

        _started = Platform(data, store, tokens.owner_of(tokens.LOCAL_EMAIL))
    except BaseException:
        if store is not None:
            store.close()
        raise
    gc.set_threshold(*_GC)
    return _started


def _environment(data: Path) -> dict[str, str]:
    """Settings that jac-cloud and LiteLLM take from nowhere else; what the operator has set goes before them."""
    return {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LOGGER_LEVEL": "WARNING",
        "LOGGER_FILE_PATH": str(data / "jac-cloud.log"),
        "LOGGER_MAX_BACKUP": "3",
        "DATABASE_PATH": str(data / "unused"),
        "ALLOW_ORIGINS": "",
    }


def _connect(data: Path, busy_timeout: float) -> "Store | None":
    if os.environ.get("DATABASE_HOST"):
        return None
    from jac_cloud.jaseci.datasources.collection import Collection
    from jac_cloud.jaseci.datasources.redis import Redis

    from contextrender.store import open_store

    store = open_store(data / STORE_FILE, busy_timeout)
    Collection.__client__, Collection.__database__ = store.client, None
    Redis.__redis__ = store.redis
    return store


def _configure(secret: str) -> None:
    from jac_cloud.core import archetype, memory
    from jac_cloud.jaseci import security
    from jac_cloud.jaseci.datasources.collection import Collection
    from jac_cloud.jaseci.main import FastAPI
    from jac_cloud.jaseci.models import User
    from jac_cloud.jaseci.routers import user
    from jac_cloud.plugin.implementation import api
    from jaclang.runtimelib.machine import hookimpl, plugin_manager
    from pydantic import ConfigDict, create_model

    security.TOKEN_SECRET = os.environ.get("TOKEN_SECRET") or secret
    exact = ConfigDict(extra="forbid", strict=True)  # no field that nobody reads, no "6" for 6
    api.create_model = functools.partial(create_model, __config__=exact)
    api.DISABLE_AUTO_ENDPOINT = memory.DISABLE_AUTO_CLEANUP = memory.SINGLE_QUERY = True
    archetype.get_type_hints = functools.cache(typing.get_type_hints)  # 70 % of the time of loading a session
    for module in (api, user):  # it would write the payload of each request into its log
        module.log_entry = _log_nothing
        module.log_exit = _log_nothing
    archetype.NodeAnchor.Collection.__indexes__ = archetype.EdgeAnchor.Collection.__indexes__ = [_INDEX]
    User.Collection.__indexes__ = [{"keys": ["email"], "unique": True, "collation": {"locale": "en", "strength": 2}}]
    _Quiet.log_report = staticmethod(hookimpl(_Quiet.log_report))  # type: ignore[method-assign]
    plugin_manager.register(_Quiet)
    FastAPI.enable()
    from contextrender.graph import archetypes

    if not issubclass(archetypes.Session, archetype.NodeArchetype):
        raise UnavailableError("the graph was loaded before the server: start the server first in a process")
    Collection.apply_indexes()
    for name, key in (("vector", "sid"), ("call", "sid"), ("lease", "until")):
        Collection.get_collection(f"contextrender_{name}").create_index(key)
    Collection.get_collection("contextrender_token").create_index("name", unique=True)


def _log_nothing(*_: Any, **__: Any) -> dict[str, Any]:
    return {}


class _Quiet:
    """jaclang prints what a walker reports; a server must not."""

    @staticmethod
    def log_report(expr: Any, custom: bool) -> bool:
        """Keep a report in the context; True keeps the printing default from running."""
        from jaclang import JacMachine as Jac

        context = Jac.get_context()
        if custom:
            context.custom = expr
        else:
            context.reports.append(expr)
        return True


def private_text(path: Path, make: typing.Callable[[], str]) -> str:
    """What stands in this file, which is made (0600, its folder 0700) with `make()` when it isn't there."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    if not path.exists():
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(make())
        try:
            os.link(temporary, path)  # whole or not at all, and the first of several processes wins
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    return path.read_text()
