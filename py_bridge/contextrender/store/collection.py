"""The collection and cursor that take the place of PyMongo's, for the calls that jac-cloud and this package make."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import bson
from bson import ObjectId
from pymongo import DeleteMany, DeleteOne, InsertOne, UpdateMany, UpdateOne
from pymongo.errors import BulkWriteError, InvalidOperation, WriteError
from pymongo.operations import IndexModel
from pymongo.results import BulkWriteResult, DeleteResult, InsertManyResult, InsertOneResult, UpdateResult

from contextrender.store.catalog import Index
from contextrender.store.cursor import Cursor, SortKeys
from contextrender.store.errors import unsupported
from contextrender.store.keys import encode
from contextrender.store.paths import Document
from contextrender.store.projection import projection as projecting
from contextrender.store.query import filter_test
from contextrender.store.search import candidates, count, find_first, matching
from contextrender.store.writes import Write, Writer, changes_of, query_of

if TYPE_CHECKING:
    from contextrender.store.client import ClientSession, Database

Fields = Mapping[str, Any] | Iterable[str] | None


class Collection:
    """PyMongo's Collection. Where several documents match and no order is asked, the order is that of insertion."""

    def __init__(self, database: "Database", name: str) -> None:
        self.database, self.name = database, name
        self._name = database.name, name
        self._client = database.client

    # --- reading -------------------------------------------------------------------------------------------------

    def find(
        self,
        filter: Mapping[str, Any] | None = None,
        projection: Fields = None,
        skip: int = 0,
        limit: int = 0,
        sort: SortKeys = None,
        session: "ClientSession | None" = None,
    ) -> Cursor:
        """A cursor over the matching documents; the file is read once, when the first one is asked for."""
        query, keep = query_of(filter), projecting(projection)
        matches = filter_test(query)

        def read() -> Iterator[Document]:
            with self._client.reading(session) as link:
                rows = list(candidates(link, self._name, query))
            return (document for _, document, _ in matching(rows, matches))

        return Cursor(read, keep, skip, limit, sort)

    def find_one(
        self,
        filter: Mapping[str, Any] | Any = None,
        projection: Fields = None,
        session: "ClientSession | None" = None,
        sort: SortKeys = None,
    ) -> Document | None:
        """The first matching document, None when there is none. A filter that is no mapping is an `_id`."""
        if filter is not None and not isinstance(filter, Mapping):
            filter = {"_id": filter}
        if not projection and not sort and filter and len(filter) == 1 and type(filter.get("_id")) is ObjectId:
            return self._by_object_id(filter["_id"], session)
        query, keep = query_of(filter), projecting(projection)
        with self._client.reading(session) as link:
            found = find_first(link, self._name, query, sort)
        return keep(found[1]) if found else None

    def _by_object_id(self, identity: ObjectId, session: "ClientSession | None") -> Document | None:
        """The short way to the document that jac-cloud asks for at every hop."""
        with self._client.reading(session) as link:
            table = link.catalog.find(*self._name)
            if table is None:
                return None
            row = link.db.execute(table.by_id, (encode(identity),)).fetchone()
        return bson.decode(row[0]) if row else None

    def count_documents(self, filter: Mapping[str, Any], session: "ClientSession | None" = None) -> int:
        """How many documents match."""
        query = query_of(filter)
        with self._client.reading(session) as link:
            return count(link, self._name, query)

    def aggregate(self, *_: Any, **__: Any) -> NoReturn:
        """Not here: raises OperationFailure."""
        raise unsupported("aggregate")

    # --- writing -------------------------------------------------------------------------------------------------

    def insert_one(self, document: Document, session: "ClientSession | None" = None) -> InsertOneResult:
        """Store the document, with a new `_id` if it has none. Raises DuplicateKeyError."""
        with self._client.writing(session) as link:
            return InsertOneResult(Writer(link, self._name).insert(document), True)

    def insert_many(
        self, documents: Iterable[Document], ordered: bool = True, session: "ClientSession | None" = None
    ) -> InsertManyResult:
        """Store the documents. Raises BulkWriteError."""
        writes = [InsertOne(document) for document in documents]
        self.bulk_write(writes, ordered, session)
        return InsertManyResult([write._doc["_id"] for write in writes], True)

    def update_one(
        self,
        filter: Mapping[str, Any],
        update: Mapping[str, Any],
        upsert: bool = False,
        session: "ClientSession | None" = None,
    ) -> UpdateResult:
        """Change the first matching document. Raises WriteError and DuplicateKeyError."""
        return self._update_result(UpdateOne(filter, update, upsert), session)

    def update_many(
        self,
        filter: Mapping[str, Any],
        update: Mapping[str, Any],
        upsert: bool = False,
        session: "ClientSession | None" = None,
    ) -> UpdateResult:
        """Change every matching document, or none when one of them can't be. Raises WriteError, DuplicateKeyError."""
        return self._update_result(UpdateMany(filter, update, upsert), session)

    def find_one_and_update(
        self,
        filter: Mapping[str, Any],
        update: Mapping[str, Any],
        projection: Fields = None,
        sort: SortKeys = None,
        upsert: bool = False,
        return_document: bool = False,
        session: "ClientSession | None" = None,
    ) -> Document | None:
        """Change the first matching document; give it back as it was before (or after: ReturnDocument.AFTER)."""
        query, changes, keep = query_of(filter), changes_of(update), projecting(projection)
        with self._client.writing(session) as link:
            writer = Writer(link, self._name)
            found = find_first(link, self._name, query, sort)
            after: Document | None = None
            if found:
                writer.change(found, changes)
                after = found[1]
            elif upsert:
                after = writer.upsert(query, changes)
        wanted = after if return_document else bson.decode(found[2]) if found else None
        return None if wanted is None else keep(wanted)

    def delete_one(self, filter: Mapping[str, Any], session: "ClientSession | None" = None) -> DeleteResult:
        """Delete the first matching document."""
        return DeleteResult({"n": self._totals(DeleteOne(filter), session)["nRemoved"]}, True)

    def delete_many(self, filter: Mapping[str, Any], session: "ClientSession | None" = None) -> DeleteResult:
        """Delete every matching document."""
        return DeleteResult({"n": self._totals(DeleteMany(filter), session)["nRemoved"]}, True)

    def bulk_write(
        self, requests: Sequence[Write], ordered: bool = True, session: "ClientSession | None" = None
    ) -> BulkWriteResult:
        """Do the writes in one commit. Raises BulkWriteError: outside a transaction the writes that succeeded stay
        (all before the failed one when `ordered`), inside one everything is undone."""
        if not requests:
            raise InvalidOperation("No operations to execute")
        failure: BulkWriteError | None = None
        with self._client.writing(session) as link:
            writer = Writer(link, self._name)
            errors = writer.totals["writeErrors"]
            for position, request in enumerate(requests):
                try:
                    writer.write(request, position)
                except WriteError as error:
                    said = {"index": position, "code": error.code, "errmsg": str(error), "op": type(request).__name__}
                    errors.append({**(error.details or {}), **said})
                    if ordered:
                        break
            if errors:
                failure = BulkWriteError(writer.totals)
                if session is not None and session.in_transaction:
                    raise failure
        if failure:
            raise failure
        return BulkWriteResult(writer.totals, True)

    def create_indexes(self, indexes: Iterable[IndexModel], session: "ClientSession | None" = None) -> list[str]:
        """Make the indexes that aren't there yet; gives their names. Raises OperationFailure and DuplicateKeyError."""
        wanted = [Index.wanted(model.document) for model in indexes]
        with self._client.writing(session) as link:
            for index in wanted:
                link.catalog.add_index(*self._name, index)
        return [index.name for index in wanted]

    def create_index(self, keys: Any, session: "ClientSession | None" = None, **options: Any) -> str:
        """Make one index; as `create_indexes`."""
        return self.create_indexes([IndexModel(keys, **options)], session)[0]

    # --- shared ------------------------------------------------------------------------------------------------------

    def _totals(self, request: Write, session: "ClientSession | None") -> dict[str, Any]:
        with self._client.writing(session) as link:
            writer = Writer(link, self._name)
            writer.write(request)
        return writer.totals

    def _update_result(self, request: UpdateOne | UpdateMany, session: "ClientSession | None") -> UpdateResult:
        totals = self._totals(request, session)
        new = [item["_id"] for item in totals["upserted"]]
        raw = {"n": totals["nMatched"] + len(new), "nModified": totals["nModified"], "updatedExisting": not new}
        return UpdateResult({**raw, "upserted": new[0]} if new else raw, True)
