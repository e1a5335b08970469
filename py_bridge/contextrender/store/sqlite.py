"""The SQLite file: its connections and its transactions. No documents in here.

One connection a thread (two when a thread reads outside its own open transaction), none shared with a forked child.
A write transaction takes the file's only writer's place at its start, so that it can fail at one point only: threads
of this process queue on a lock, processes on SQLite's busy timeout.
"""

import errno
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from pymongo.errors import InvalidOperation

from contextrender.store.catalog import Catalog
from contextrender.store.errors import (
    RETRYABLE,
    StoreError,
    StoreFullError,
    StoreLockedError,
    locked,
    read_only,
    store_error,
)
from contextrender.store.schema import MIGRATIONS, migrate, schema_version


class Link:
    """A connection with what it knows of the file's collections; used by one thread, or by one session at a time."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.process = os.getpid()
        self.closed = False
        self.catalog = Catalog(db)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open on it."""
        return not self.closed and self.db.in_transaction

    def close(self) -> None:
        """Close the connection, if it belongs to this process."""
        if self.process == os.getpid():
            self.closed = True
            self.db.close()

    def __del__(self) -> None:
        self.close()


class StoreFile:
    """The file at `path`, made when it isn't there.

    `busy_timeout` is how long (seconds) a writer waits for its turn. `fsync` makes a commit survive a power cut as
    well as a killed process. Raises StoreError's kinds, here and from every use.
    """

    def __init__(self, path: Path, busy_timeout: float = 5.0, fsync: bool = True) -> None:
        self.path = Path(path).absolute()
        self.busy_timeout = busy_timeout
        self._synchronous = "FULL" if fsync else "NORMAL"
        self.closed = False
        self.translated = _Translated(self)
        self.committed = _Committed(self)
        self._reset()
        _files.add(self)
        _register_fork_hooks()
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _reset(self) -> None:
        self._writer = threading.Lock()
        self._local = threading.local()
        self._links: weakref.WeakSet[Link] = weakref.WeakSet()
        self._links_guard = threading.Lock()

    # --- connections ---------------------------------------------------------------------------------------------

    def link(self) -> Link:
        """This thread's connection."""
        found: Link | None = getattr(self._local, "link", None)
        if found is None or found.closed:
            found = self._local.link = self._open_link()
        return found

    def reading_link(self) -> Link:
        """A connection of this thread that sees committed data only, even while a transaction of its own is open."""
        link = self.link()
        if not link.in_transaction:
            return link
        outside: Link | None = getattr(self._local, "outside", None)
        if outside is None or outside.closed:
            outside = self._local.outside = self._open_link()
        return outside

    def _open_link(self) -> Link:
        if self.closed:
            raise self.closed_error()
        try:
            link = Link(self._connect())
        except sqlite3.Error as error:
            raise store_error(error, self.path) from error
        with self._links_guard:
            self._links.add(link)
        return link

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(
            f"file:{quote(str(self.path))}?mode=rw",
            uri=True,
            timeout=self.busy_timeout,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            db.execute(f"PRAGMA synchronous = {self._synchronous}")
            db.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
            db.execute("PRAGMA journal_size_limit = 67108864")
            db.create_function("from_hex", 1, bytes.fromhex, deterministic=True)
        except BaseException:
            db.close()
            raise
        return db

    def drop_link(self) -> None:
        """Close this thread's connections that have no transaction open; the next use opens new ones."""
        for name in ("link", "outside"):
            link: Link | None = getattr(self._local, name, None)
            if link is not None and not link.in_transaction:
                link.close()

    def closed_error(self) -> InvalidOperation:
        """What using a closed store raises."""
        return InvalidOperation(f"the store {self.path} is closed")

    def close(self) -> None:
        """Close the connections of every thread. Using the file afterwards raises InvalidOperation."""
        self.closed = True
        with self._links_guard:
            for link in list(self._links):
                link.close()

    # --- transactions --------------------------------------------------------------------------------------------

    def begin(self, link: Link, label: str = RETRYABLE) -> None:
        """Take the writer's place. Raises StoreLockedError with `label` when it isn't free in time."""
        if not self._writer.acquire(timeout=self.busy_timeout):
            raise locked(self.path, label)
        try:
            link.db.execute("BEGIN IMMEDIATE")
            link.catalog.refresh()
        except BaseException as error:
            self.rollback(link)
            if isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise locked(self.path, label) from error
            raise

    def commit(self, link: Link) -> None:
        """Make the transaction durable and leave the writer's place; after an error it is rolled back."""
        try:
            link.db.execute("COMMIT")
        except BaseException:
            self.rollback(link)
            raise
        self._writer.release()

    def rollback(self, link: Link) -> None:
        """Undo the transaction and leave the writer's place. Does nothing in a forked child."""
        if link.process != os.getpid():
            return
        try:
            if link.in_transaction:
                link.db.execute("ROLLBACK")
        except sqlite3.Error:
            link.close()  # which rolls back as well
        finally:
            link.catalog.forget()
            self._writer.release()

    @contextmanager
    def writing(self, join: bool = False) -> Iterator[Link]:
        """A transaction of its own on this thread's connection.

        When this thread has one open already, `join` makes the work part of it; without it InvalidOperation is
        raised, for waiting would never end.
        """
        with self.translated:
            link = self.link()
            if link.in_transaction:
                if not join:
                    raise InvalidOperation("this thread has a transaction open: pass its session to this operation")
                yield link
                return
            self.begin(link)
            try:
                yield link
            except BaseException:
                self.rollback(link)
                raise
            self.commit(link)

    # --- the file as it is opened --------------------------------------------------------------------------------

    def _prepare(self) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise read_only(self.path, str(error.strerror)) from error
            if error.errno == errno.ENOSPC:
                raise StoreFullError(f"no room to make {self.path}; free disk space, then try again") from error
            raise StoreError(f"{self.path} can't be opened ({error.strerror}); check the path") from error
        with self.translated:
            db = self.link().db
            version = schema_version(db, self.path)
            if self.path.stat().st_mode & 0o077:
                self.path.chmod(0o600)
            self._use_wal(db)
            if version < len(MIGRATIONS):
                with self.writing() as link:
                    migrate(link.db, self.path)

    def _use_wal(self, db: sqlite3.Connection) -> None:
        deadline = time.monotonic() + self.busy_timeout
        while True:  # SQLite doesn't wait here by itself when several processes open a new file at once
            try:
                db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)


class _Translating:
    """Turns SQLite's errors into StoreErrors at its end, and drops a connection that its file has let down."""

    def __init__(self, file: StoreFile) -> None:
        self._file = file

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if not isinstance(error, sqlite3.Error):
            return
        if isinstance(error, sqlite3.ProgrammingError):
            if self._file.closed:
                raise self._file.closed_error() from error
            return
        failure = store_error(error, self._file.path)
        if not isinstance(failure, StoreLockedError):
            self._file.drop_link()
        raise failure from error


class _Translated(_Translating):
    def __enter__(self) -> None:
        return None


class _Committed(_Translating):
    """Gives a connection that reads what is committed."""

    def __enter__(self) -> Link:
        return self._file.reading_link()


# --- forks: a child must neither use nor close its parent's connections ---------------------------------------------

_files: "weakref.WeakSet[StoreFile]" = weakref.WeakSet()
_inherited: list[Link] = []
_held_over_fork: list[Link] = []
_hooks_registered = False


def _register_fork_hooks() -> None:
    global _hooks_registered  # noqa: PLW0603
    if not _hooks_registered:
        _hooks_registered = True
        os.register_at_fork(before=_before_fork, after_in_parent=_held_over_fork.clear, after_in_child=_after_fork)


def _before_fork() -> None:
    for file in list(_files):
        file.drop_link()  # SQLite's own state must not be copied with locks in it
        with file._links_guard:
            _held_over_fork.extend(file._links)


def _after_fork() -> None:
    _inherited.extend(_held_over_fork)  # kept for ever: closing them here would disturb the parent
    _held_over_fork.clear()
    for file in list(_files):
        file._reset()
