"""Which collections and indexes the file holds, as one connection knows them.

A collection is one table `documents_<n>` (seq, id, doc, and a key column for each index). Every process must fill the
key columns of an index that another process has made, so a writer compares SQLite's schema counter first (`refresh`).
"""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import bson
from pymongo.errors import DuplicateKeyError, OperationFailure

from contextrender.store.errors import DUPLICATE_KEY, INDEX_OPTIONS_CONFLICT, unsupported
from contextrender.store.keys import encode, encode_folded
from contextrender.store.paths import Document, single_value
from contextrender.store.query import OPAQUE


@dataclass(frozen=True)
class Index:
    """An index over `fields`; `fold` makes strings that differ in case only equal (collation of strength 2)."""

    name: str
    fields: tuple[str, ...]
    unique: bool
    fold: bool
    column: str = ""

    @cached_property
    def _paths(self) -> list[tuple[str, ...]]:
        return [tuple(field.split(".")) for field in self.fields]

    def key(self, document: Document) -> bytes:
        """The document's key. Raises OperationFailure for an array in a unique index."""
        parts = []
        for path in self._paths:
            value, single = single_value(document, path)
            if not single:
                if self.unique:
                    raise unsupported(f"an array in the unique index {self.name}")
                return OPAQUE
            parts.append(encode_folded(value) if self.fold else encode(value))
        return b"".join(parts)

    @property
    def spec(self) -> str:
        """What the index is, apart from its name and column, as stored in the file."""
        return json.dumps({"fields": self.fields, "unique": self.unique, "fold": self.fold})

    @classmethod
    def stored(cls, name: str, spec: str, column: str) -> "Index":
        """The index that `spec` was made from."""
        kept = json.loads(spec)
        return cls(name, tuple(kept["fields"]), kept["unique"], kept["fold"], column)

    @classmethod
    def wanted(cls, model: Mapping[str, Any]) -> "Index":
        """The index that a `pymongo.IndexModel.document` asks for. Raises for options and kinds that aren't here."""
        extra = set(model) - {"key", "name", "unique", "collation", "background"}
        if extra:
            raise unsupported(f"the index option {sorted(extra)[0]}")
        if any(direction not in (1, -1) for direction in model["key"].values()):
            raise unsupported(f"the index kind of {model['name']}")
        collation = model.get("collation")
        if collation is not None and collation.get("strength") != 2:
            raise unsupported("a collation other than strength 2 (case-insensitive)")
        return cls(model["name"], tuple(model["key"]), bool(model.get("unique")), collation is not None)


@dataclass(frozen=True)
class Table:
    """A collection's table, with the statements that write it."""

    number: int
    indexes: tuple[Index, ...]

    @cached_property
    def name(self) -> str:
        """The table's name in SQL."""
        return f"documents_{self.number}"

    @cached_property
    def by_id(self) -> str:
        """Parameter: id."""
        return f"SELECT doc FROM {self.name} WHERE id = ?"

    @cached_property
    def insert(self) -> str:
        """Parameters: id, doc, and the keys in the order of `indexes`."""
        columns = "".join(f", {index.column}" for index in self.indexes)
        return f"INSERT INTO {self.name} (id, doc{columns}) VALUES (?, ?{', ?' * len(self.indexes)})"

    @cached_property
    def replace(self) -> str:
        """Parameters: doc, the keys, and seq."""
        columns = "".join(f", {index.column} = ?" for index in self.indexes)
        return f"UPDATE {self.name} SET doc = ?{columns} WHERE seq = ?"

    def keys(self, document: Document) -> list[bytes]:
        """The document's key in every index."""
        return [index.key(document) for index in self.indexes]


class Catalog:
    """The collections as this connection last read them."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._schema = -1
        self._tables: dict[tuple[str, str], Table] = {}

    def refresh(self) -> None:
        """Read the collections again if any process has changed them. To be called at the start of each write."""
        (schema,) = self._db.execute("PRAGMA schema_version").fetchone()
        if schema != self._schema:
            self._tables = dict(self._read())
            self._schema = schema

    def forget(self) -> None:
        """Trust nothing that was read: a transaction that may have changed it was undone."""
        self._schema = -1
        self._tables = {}

    def _read(self) -> list[tuple[tuple[str, str], Table]]:
        if not self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'collection'").fetchone():
            return []  # a new file, before its first migration
        indexes: dict[int, list[Index]] = {}
        for number, *parts in self._db.execute(
            "SELECT collection, name, spec, key_column FROM collection_index ORDER BY collection, key_column"
        ):
            indexes.setdefault(number, []).append(Index.stored(*parts))
        return [
            ((database, name), Table(number, tuple(indexes.get(number, ()))))
            for number, database, name in self._db.execute("SELECT number, database, name FROM collection")
        ]

    def names(self) -> list[tuple[str, str]]:
        """Every (database, collection) of the file."""
        self.refresh()
        return sorted(self._tables)

    def find(self, database: str, name: str) -> Table | None:
        """The collection's table, None when nothing was ever written to it."""
        table = self._tables.get((database, name))
        if table is None:
            self.refresh()
            table = self._tables.get((database, name))
        return table

    def need(self, database: str, name: str) -> Table:
        """The collection's table, made if it isn't there. Only within a write transaction."""
        table = self._tables.get((database, name))
        if table is None:
            number = self._db.execute(
                "INSERT INTO collection (database, name) VALUES (?, ?)", (database, name)
            ).lastrowid
            self._db.execute(
                f"CREATE TABLE documents_{number} (seq INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, doc BLOB NOT NULL)"
            )
            self.refresh()
            table = self._tables[database, name]
        return table

    def add_index(self, database: str, name: str, wanted: Index) -> None:
        """Make the index and fill it; the same one again changes nothing. Only within a write transaction.

        Raises OperationFailure when the name stands for another index, DuplicateKeyError when the documents that are
        there break a unique one.
        """
        table = self.need(database, name)
        if wanted.fields[0] == "_id":
            return  # the primary key finds the one document, and is unique already
        for index in table.indexes:
            if index.name == wanted.name:
                if index.spec != wanted.spec:
                    raise OperationFailure(f"another index has the name {wanted.name}", INDEX_OPTIONS_CONFLICT)
                return
        column = f"key_{1 + len(table.indexes):03}"
        self._db.execute(f"ALTER TABLE {table.name} ADD COLUMN {column} BLOB")
        seq, some = -1, f"SELECT seq, doc FROM {table.name} WHERE seq > ? ORDER BY seq LIMIT 500"
        while rows := self._db.execute(some, (seq,)).fetchall():
            for seq, doc in rows:
                key = wanted.key(bson.decode(doc))
                self._db.execute(f"UPDATE {table.name} SET {column} = ? WHERE seq = ?", (key, seq))
        unique = "UNIQUE" if wanted.unique else ""
        try:
            self._db.execute(f"CREATE {unique} INDEX {table.name}_{column} ON {table.name} ({column})")
        except sqlite3.IntegrityError as error:
            raise DuplicateKeyError(
                f"E11000 documents of {database}.{name} have the same {', '.join(wanted.fields)}", DUPLICATE_KEY
            ) from error
        self._db.execute(
            "INSERT INTO collection_index (collection, name, spec, key_column) VALUES (?, ?, ?, ?)",
            (table.number, wanted.name, wanted.spec, column),
        )
        self.refresh()
