"""What the file holds besides documents, and its schema version (`PRAGMA user_version`)."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from contextrender.store.errors import StoreCorruptedError, StoreForeignError, StoreNewerError

APPLICATION_ID = 0x43747852  # "CtxR", in the file's header


def _version_1(db: sqlite3.Connection) -> None:
    db.execute(
        "CREATE TABLE collection (number INTEGER PRIMARY KEY, database TEXT NOT NULL, name TEXT NOT NULL,"
        " UNIQUE (database, name))"
    )
    db.execute(
        "CREATE TABLE collection_index (collection INTEGER NOT NULL, name TEXT NOT NULL, spec TEXT NOT NULL,"
        " key_column TEXT NOT NULL, PRIMARY KEY (collection, name))"
    )
    db.execute("CREATE TABLE redis_key (key BLOB PRIMARY KEY, kind TEXT NOT NULL, expires REAL) WITHOUT ROWID")
    db.execute("CREATE INDEX redis_key_expires ON redis_key (expires) WHERE expires IS NOT NULL")
    db.execute(
        "CREATE TABLE redis_item (key BLOB NOT NULL, field BLOB NOT NULL, value BLOB NOT NULL, expires REAL,"
        " PRIMARY KEY (key, field)) WITHOUT ROWID"
    )
    db.execute("CREATE INDEX redis_item_expires ON redis_item (expires) WHERE expires IS NOT NULL")


# The n-th function brings a file of version n - 1 to version n, inside one transaction. Only ever append.
MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [_version_1]


def schema_version(db: sqlite3.Connection, path: Path) -> int:
    """The file's schema version, 0 for an empty file. Changes nothing.

    Raises StoreForeignError, StoreNewerError and StoreCorruptedError for a file that can't be used.
    """
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    (objects,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION_ID:
        if objects or version or application:
            raise StoreForeignError(
                f"{path} is another program's database (application id {application}); "
                "it was not touched: choose another path"
            )
        return 0
    if version > len(MIGRATIONS):
        raise StoreNewerError(
            f"{path} has schema version {version}, this program knows {len(MIGRATIONS)}; "
            "it was not touched: update ContextRender, or choose another path"
        )
    if version == 0:
        raise StoreCorruptedError(f"{path} has no schema version; restore a backup, or choose another path")
    return int(version)


def migrate(db: sqlite3.Connection, path: Path) -> None:
    """Bring the file to the newest version. Only within a write transaction."""
    version = schema_version(db, path)
    for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
        step(db)
        db.execute(f"PRAGMA user_version = {number}")
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
