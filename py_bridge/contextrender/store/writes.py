"""Single writes to one collection, inside an open transaction of one connection."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import bson
from bson import ObjectId, Regex
from pymongo import DeleteMany, DeleteOne, InsertOne, UpdateMany, UpdateOne
from pymongo.common import validate_is_mapping, validate_ok_for_update
from pymongo.errors import DuplicateKeyError, WriteError

from contextrender.store.catalog import Table
from contextrender.store.errors import BAD_VALUE, DUPLICATE_KEY, unsupported
from contextrender.store.keys import encode
from contextrender.store.paths import Document
from contextrender.store.query import normal
from contextrender.store.search import Found, Name, find_all, find_first
from contextrender.store.sqlite import Link
from contextrender.store.update import apply_update, upsert_base

Write = InsertOne[Any] | UpdateOne | UpdateMany | DeleteOne | DeleteMany


class Writer:
    """Does writes and counts them in `totals`, which has the form of BulkWriteResult's raw result."""

    def __init__(self, link: Link, name: Name) -> None:
        self._link, self._name = link, name
        counts = dict.fromkeys(("nInserted", "nMatched", "nModified", "nRemoved", "nUpserted"), 0)
        self.totals: dict[str, Any] = {**counts, "upserted": [], "writeErrors": [], "writeConcernErrors": []}

    def write(self, request: Write, position: int = 0) -> None:
        """Do one request. Raises WriteError (DuplicateKeyError too) when the document refuses it."""
        match request:
            case InsertOne():
                self.insert(request._doc)
                self.totals["nInserted"] += 1
            case UpdateOne() | UpdateMany():
                if request._collation or request._hint or request._array_filters:
                    raise unsupported("an update's collation, hint or array_filters")
                self._update(request, position)
            case DeleteOne() | DeleteMany():
                if request._collation or request._hint:
                    raise unsupported("a deletion's collation or hint")
                self._delete(request)
            case _:
                raise TypeError(f"{request!r} is not a valid request")

    def insert(self, document: Document) -> Any:
        """Store a document, giving it an `_id` if it has none; gives the `_id`."""
        document.setdefault("_id", ObjectId())
        identity = normal({"": document["_id"]})[""]
        if isinstance(identity, dict | list | Regex):
            raise WriteError(f"an _id can't be a {type(identity).__name__} here", BAD_VALUE)
        doc = bson.encode(document)
        table = self._table()
        keys = table.keys(bson.decode(doc)) if table.indexes else ()
        self._execute(table, table.insert, (encode(identity), doc, *keys))
        return document["_id"]

    def change(self, found: Found, changes: Document) -> bool:
        """Apply an update to a found document, in place and in the file; whether it changed anything."""
        seq, document, doc = found
        apply_update(document, changes)
        new = bson.encode(document)
        if new == doc:
            return False
        table = self._table()
        self._execute(table, table.replace, (new, *table.keys(document), seq))
        return True

    def upsert(self, query: Document, changes: Document) -> Document:
        """Store the document that an update without a match makes."""
        document = upsert_base(query)
        apply_update(document, changes, inserting=True)
        self.insert(document)
        return document

    def _update(self, request: UpdateOne | UpdateMany, position: int) -> None:
        query, changes = query_of(request._filter), changes_of(request._doc)
        chosen = self._chosen(query, isinstance(request, UpdateMany))
        modified = sum(self.change(found, changes) for found in chosen)
        self.totals["nMatched"] += len(chosen)
        self.totals["nModified"] += modified
        if not chosen and request._upsert:
            document = self.upsert(query, changes)
            self.totals["nUpserted"] += 1
            self.totals["upserted"].append({"index": position, "_id": document["_id"]})

    def _delete(self, request: DeleteOne | DeleteMany) -> None:
        chosen = self._chosen(query_of(request._filter), isinstance(request, DeleteMany))
        self._link.db.executemany(f"DELETE FROM {self._table().name} WHERE seq = ?", ((seq,) for seq, *_ in chosen))
        self.totals["nRemoved"] += len(chosen)

    def _chosen(self, query: Document, many: bool) -> list[Found]:
        if many:
            return find_all(self._link, self._name, query)
        found = find_first(self._link, self._name, query)
        return [found] if found else []

    def _table(self) -> Table:
        return self._link.catalog.need(*self._name)

    def _execute(self, table: Table, statement: str, parameters: Sequence[Any]) -> None:
        try:
            self._link.db.execute(statement, parameters)
        except sqlite3.IntegrityError as error:
            column = str(error).rpartition(".")[2]
            fields = next((index.fields for index in table.indexes if index.column == column), ("_id",))
            details = {"code": DUPLICATE_KEY, "keyPattern": dict.fromkeys(fields, 1)}
            raise DuplicateKeyError(f"E11000 duplicate key: {', '.join(fields)}", DUPLICATE_KEY, details) from error


def query_of(filter: Mapping[str, Any] | None) -> Document:
    """A filter as the pure modules take it. Raises TypeError for what is no mapping."""
    if not filter:
        return {}
    validate_is_mapping("filter", filter)
    return normal(filter)


def changes_of(update: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Document:
    """An update as the pure modules take it. Raises ValueError for a replacement, as PyMongo does."""
    validate_ok_for_update(update)
    if not isinstance(update, Mapping):
        raise unsupported("an update by a pipeline")
    return normal(update)
