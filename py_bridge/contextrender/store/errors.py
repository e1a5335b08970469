"""What can go wrong with the store's file; each message says what, where, and what to do.

    StoreError                 (also a PyMongoError, so that code written for MongoDB handles it)
      StoreFullError           the disk or the file's size limit
      StoreReadOnlyError       the file or its folder may not be written
      StoreLockedError         another writer kept the file for longer than the busy timeout (also an OperationFailure)
      StoreCorruptedError      not a database, or a damaged one
      StoreForeignError        another program's database
      StoreNewerError          written by a newer ContextRender

Wrong use is reported with PyMongo's own classes: `OperationFailure`, `WriteError`, `DuplicateKeyError`,
`BulkWriteError`, `InvalidOperation`. `unsupported` makes the error for what MongoDB knows and this store doesn't.
"""

import os
import sqlite3
from pathlib import Path

from pymongo.errors import OperationFailure, PyMongoError

from contextrender.errors import ContextRenderError

BAD_VALUE = 2
TYPE_MISMATCH = 14
PATH_NOT_VIABLE = 28
CONFLICTING_UPDATES = 40
IMMUTABLE_FIELD = 66
INDEX_OPTIONS_CONFLICT = 86
WRITE_CONFLICT = 112
UNSUPPORTED = 238
NO_SUCH_TRANSACTION = 251
DUPLICATE_KEY = 11000

TRANSIENT = "TransientTransactionError"
RETRYABLE = "RetryableWriteError"


class StoreError(ContextRenderError, PyMongoError):
    """The file behind the store can't be used as it is; nothing that was acknowledged is lost by it."""


class StoreFullError(StoreError):
    """No room left to write."""


class StoreReadOnlyError(StoreError):
    """No permission to write."""


class StoreLockedError(StoreError, OperationFailure):
    """Another writer was busy for too long. In a transaction it has the label `TransientTransactionError`."""

    def __init__(self, message: str, label: str = RETRYABLE) -> None:
        OperationFailure.__init__(self, message, WRITE_CONFLICT, {"errorLabels": [label]})


class StoreCorruptedError(StoreError):
    """The file is damaged, or no database at all."""


class StoreForeignError(StoreError):
    """A sound SQLite file that this store didn't make."""


class StoreNewerError(StoreError):
    """The file's schema is newer than this program."""


def unsupported(what: str) -> OperationFailure:
    """The error for a part of MongoDB that the embedded store leaves out: it is raised, never ignored."""
    return OperationFailure(
        f"{what} is not supported by the embedded store; use MongoDB (DATABASE_HOST) if you need it", UNSUPPORTED
    )


def store_error(error: sqlite3.Error, path: Path) -> StoreError:
    """The StoreError that says what a failed SQLite call on `path` means."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    match code:
        case sqlite3.SQLITE_FULL:
            return StoreFullError(
                f"no room to write {path} ({error}); nothing was stored: free disk space, then try again"
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return locked(path)
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return StoreCorruptedError(
                f"{path} is damaged or not a database ({error}); stop the server, keep a copy of the file, "
                "run `contextrender doctor`, or restore a backup"
            )
        case sqlite3.SQLITE_READONLY:
            return read_only(path, str(error))
        case sqlite3.SQLITE_CANTOPEN if path.exists() and not os.access(path.parent, os.W_OK | os.X_OK):
            return read_only(path, str(error))
        case sqlite3.SQLITE_CANTOPEN if not path.exists():
            return StoreError(f"{path} is gone; restore it, or restart to begin with an empty store")
        case sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return read_only(path, str(error))
        case _:
            return StoreError(f"{path} can't be read or written ({error}); check the disk and the system's log")


def read_only(path: Path, why: str) -> StoreReadOnlyError:
    """The error for a file or folder without write permission."""
    return StoreReadOnlyError(
        f"{path} can't be written ({why}); give this user write permission on the file, on {path.name}-wal and "
        f"{path.name}-shm beside it, and on the folder {path.parent}"
    )


def locked(path: Path, label: str = RETRYABLE) -> StoreLockedError:
    """The error for a writer's place that didn't become free in time."""
    return StoreLockedError(
        f"{path} is locked by another writer; try again, and look for a process that keeps a transaction open", label
    )
