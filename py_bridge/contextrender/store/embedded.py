"""The embedded store as the server and `contextrender doctor` use it: one file, opened, checked, closed."""

import sqlite3
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import bson
from bson.errors import BSONError

from contextrender.store.catalog import Table
from contextrender.store.client import Client
from contextrender.store.keys import encode
from contextrender.store.sqlite import Link, StoreFile

if TYPE_CHECKING:
    from contextrender.store.redis import Redis


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in the file: `where` names the file, or database.collection and the row; never any content."""

    where: str
    what: str


class Store:
    """An open store: `client` in place of PyMongo's MongoClient, `redis` in place of redis-py's Redis."""

    def __init__(self, file: StoreFile) -> None:
        self.file = file
        self.client = Client(file)

    @cached_property
    def redis(self) -> "Redis":
        """The Redis-shaped client (made on first use: redis-py takes a while to import)."""
        from contextrender.store.redis import Redis

        return Redis(self.file)

    @property
    def path(self) -> Path:
        """The file."""
        return self.file.path

    def close(self) -> None:
        """Close the file, in every thread."""
        self.file.close()

    def checkpoint(self) -> None:
        """Move the write-ahead log into the file and empty it, so that nothing of a deleted document is left in it.

        Raises StoreLockedError while somebody reads or writes for longer than the busy timeout.
        """
        with self.file.translated:
            (busy, *_) = self.file.link().db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            from contextrender.store.errors import locked

            raise locked(self.path)

    def check(self) -> list[Problem]:
        """Everything wrong with the file: SQLite's own check, documents that don't decode, keys that don't fit their
        document. Raises StoreError when the file can't be opened."""
        link = self.file.reading_link()
        problems: list[Problem] = []
        try:
            for (what,) in link.db.execute("PRAGMA integrity_check"):
                if what != "ok":
                    problems.append(Problem(str(self.path), what))
            for database, name in link.catalog.names():
                table = link.catalog.find(database, name)
                assert table is not None, "just listed"
                problems += _document_problems(link, table, f"{database}.{name}")
        except sqlite3.DatabaseError as error:
            problems.append(Problem(str(self.path), f"can't be read any further: {error}"))
            self.file.drop_link()
        return problems

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_store(path: Path, busy_timeout: float = 5.0, fsync: bool = True) -> Store:
    """Open the store in the file at `path`, which is made (0600, its folder 0700) when it isn't there.

    `busy_timeout`: how long, in seconds, a writer waits for another one. `fsync=False` gives up surviving a power cut
    (never a killed process) for faster commits. Raises StoreError's kinds: no permission, not ours, too new, damaged.
    """
    return Store(StoreFile(path, busy_timeout, fsync))


def _document_problems(link: Link, table: Table, name: str) -> list[Problem]:
    problems = []
    columns = "".join(f", {index.column}" for index in table.indexes)
    for seq, identity, doc, *keys in link.db.execute(f"SELECT seq, id, doc{columns} FROM {table.name}"):
        where = f"{name} row {seq}"
        try:
            document = bson.decode(doc)
        except (BSONError, TypeError, ValueError) as error:
            problems.append(Problem(where, f"the document can't be decoded ({type(error).__name__})"))
            continue
        if encode(document.get("_id")) != identity:
            problems.append(Problem(where, "the _id is not that of the document"))
        if table.keys(document) != keys:
            problems.append(Problem(where, "an index doesn't fit the document"))
    return problems
