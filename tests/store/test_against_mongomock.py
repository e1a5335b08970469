"""Operator by operator, generated: the store and mongomock, given the same calls, give the same answers.

Left out where mongomock differs from MongoDB (our behaviour is tested by example in test_query.py and test_update.py):
an $addToSet that names one item twice, $inc of a text, numbers against booleans, ranges over mixed types, null against
paths through arrays, two limits met by two elements, the order of fields, update conflicts, and partly done
`update_many`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mongomock
import mongomock.collection
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pymongo import DeleteMany, DeleteOne, IndexModel, InsertOne, UpdateMany, UpdateOne
from pymongo.errors import BulkWriteError, DuplicateKeyError, PyMongoError, WriteError

from contextrender.store import Collection, open_store

Json = dict[str, Any]

SIDS = st.sampled_from(["s1", "s2", "s3"])
VERSIONS = st.integers(0, 6) | st.sampled_from([0.5, 2.0])
TEXTS = st.sampled_from(["", "a", "b", "É", "a\x00b"])
IDS = st.integers(1, 9)  # mongomock takes an upserted 0 for none
ITEMS = st.sampled_from(["e1", "e2", "e3", "e4"])


@st.composite
def documents(draw: st.DrawFn) -> Json:
    archetype = draw(
        st.fixed_dictionaries({}, optional={"sid": SIDS, "ver": VERSIONS, "text": TEXTS, "gone": st.none()})
    )
    optional = {
        "name": TEXTS,
        "edges": st.lists(ITEMS, max_size=4),
        "inner": st.fixed_dictionaries({"a": st.fixed_dictionaries({"b": VERSIONS})}),
        "parts": st.lists(st.fixed_dictionaries({"n": VERSIONS}), max_size=3),
    }
    return {"_id": draw(IDS), "archetype": archetype, **draw(st.fixed_dictionaries({}, optional=optional))}


def conditions(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(values, max_size=3)
    one_of = {"$eq": values, "$ne": values, "$in": lists, "$nin": lists}
    return values | st.one_of(*(st.fixed_dictionaries({name: given_}) for name, given_ in one_of.items()))


def ranges(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = ("$gt", "$gte", "$lt", "$lte")
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, values)).filter(bool)


EXISTS = st.builds(lambda yes: {"$exists": yes}, st.booleans())
CLAUSES: dict[str, st.SearchStrategy[Any]] = {
    "_id": conditions(IDS) | ranges(IDS),
    "archetype.sid": conditions(SIDS) | st.none() | ranges(SIDS) | EXISTS,
    "archetype.ver": conditions(VERSIONS) | ranges(VERSIONS),
    "archetype.gone": st.none() | EXISTS,
    "archetype": st.builds(lambda sid: {"sid": sid}, SIDS),
    "name": conditions(TEXTS) | ranges(TEXTS),
    "edges": conditions(ITEMS) | st.lists(ITEMS, max_size=2),
    "edges.0": conditions(ITEMS),
    "inner.a.b": conditions(VERSIONS) | ranges(VERSIONS),
    "parts.n": VERSIONS | ranges(VERSIONS).filter(lambda condition: len(condition) == 1),
}
PLAIN_FILTERS = st.fixed_dictionaries({}, optional=CLAUSES)
SOME_FILTERS = st.lists(st.sampled_from(sorted(CLAUSES)), max_size=3, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: CLAUSES[name] for name in names})
)
LOGIC = st.sampled_from(["$and", "$or", "$nor"])
FILTERS: st.SearchStrategy[Json] = st.one_of(
    SOME_FILTERS,
    SOME_FILTERS,
    st.builds(lambda name, parts: {name: parts}, LOGIC, st.lists(SOME_FILTERS, min_size=1, max_size=2)),
    st.builds(lambda flat, name, part: {**flat, name: [part]}, SOME_FILTERS, LOGIC, SOME_FILTERS),
)

UPDATES: st.SearchStrategy[Json] = st.one_of(
    st.builds(lambda sid, text: {"$set": {"archetype.sid": sid, "archetype.text": text}}, SIDS, TEXTS),
    st.builds(lambda value: {"$set": {"inner.a.b": value, "fresh.deep.path": value}}, VERSIONS),
    st.builds(lambda name: {"$unset": {name: 1}}, st.sampled_from(["name", "archetype.sid", "inner.a.b", "no.such"])),
    st.builds(lambda by: {"$inc": {"archetype.ver": by, "count": by}}, st.integers(-3, 3)),
    st.builds(lambda items: {"$addToSet": {"edges": {"$each": items}}}, st.lists(ITEMS, max_size=3, unique=True)),
    st.builds(lambda item: {"$addToSet": {"edges": item}}, ITEMS),
    st.builds(lambda items: {"$push": {"edges": {"$each": items}}}, st.lists(ITEMS, max_size=3)),
    st.builds(lambda item: {"$push": {"edges": item}}, ITEMS),
    st.builds(lambda item: {"$pull": {"edges": item}}, ITEMS),
    st.builds(lambda items: {"$pull": {"edges": {"$in": items}}}, st.lists(ITEMS, max_size=3)),
    st.builds(lambda value: {"$pull": {"parts": {"n": value}}}, VERSIONS),
    st.builds(lambda value: {"$pull": {"parts": {"n": {"$gte": value}}}}, VERSIONS),
    st.builds(lambda a, b: {"$set": {"name": a}, "$setOnInsert": {"made": b}}, TEXTS, TEXTS),
    st.builds(lambda name, items: {"$set": {"name": name}, "$addToSet": {"edges": {"$each": items}}}, TEXTS,
              st.lists(ITEMS, max_size=2, unique=True)),
)  # fmt: skip

# An upsert's new document comes from the filter's equalities, so its filters are equalities here.
UPSERT_FILTERS = st.fixed_dictionaries({"_id": IDS}, optional={"archetype.sid": SIDS, "name": TEXTS})

WRITES = st.one_of(
    st.builds(InsertOne, documents()),
    st.builds(UpdateOne, FILTERS, UPDATES),
    st.builds(UpdateMany, FILTERS, UPDATES),
    st.builds(lambda query, update: UpdateOne(query, update, upsert=True), UPSERT_FILTERS, UPDATES),
    st.builds(DeleteOne, FILTERS),
    st.builds(DeleteMany, FILTERS),
)

PROJECTIONS = st.sampled_from(
    [None, {}, {"name": 0}, {"archetype.sid": False}, {"name": 1}, ["name", "archetype.ver"], {"_id": 0, "edges": 1},
     {"_id": 0}, {"inner.a": 1}, {"parts.n": 0}, {"parts.n": 1}]
)  # fmt: skip

Operation = Callable[[Any], Any]


def _result(answer: Any) -> Any:
    names = ("matched_count", "modified_count", "deleted_count", "inserted_count", "upserted_count", "inserted_id",
             "inserted_ids", "upserted_id")  # fmt: skip
    return {name: getattr(answer, name) for name in names if hasattr(answer, name)}


def _copy(write: Any) -> Any:
    return InsertOne(dict(write._doc)) if isinstance(write, InsertOne) else write


def _operations() -> st.SearchStrategy[tuple[str, Operation]]:
    def named(name: str, make: Callable[..., Operation], *parts: st.SearchStrategy[Any]) -> Any:
        return st.builds(lambda *values: (f"{name}{values}", make(*values)), *parts)

    return st.one_of(
        named("find", lambda f, p: lambda c: list(c.find(f, p)), FILTERS, PROJECTIONS),
        named("find_one", lambda f, p: lambda c: c.find_one(f, p), FILTERS, PROJECTIONS),
        named("count", lambda f: lambda c: c.count_documents(f), FILTERS),
        named(
            "sorted",
            lambda f, s, k: lambda c: list(c.find(f).sort([("archetype.ver", s), ("_id", -1)]).skip(k).limit(3)),
            FILTERS, st.sampled_from([1, -1]), st.integers(0, 2),
        ),
        named("insert_one", lambda d: lambda c: _result(c.insert_one(dict(d))), documents()),
        named("insert_many", lambda ds: lambda c: _result(c.insert_many([dict(d) for d in ds])),
              st.lists(documents(), min_size=1, max_size=3)),
        named("update_one", lambda f, u: lambda c: _result(c.update_one(f, u)), FILTERS, UPDATES),
        named("upsert", lambda f, u: lambda c: _result(c.update_one(f, u, upsert=True)), UPSERT_FILTERS, UPDATES),
        named("update_many", lambda f, u: lambda c: _result(c.update_many(f, u)), FILTERS, UPDATES),
        named("find_one_and_update", lambda f, u, after: lambda c: c.find_one_and_update(f, u, return_document=after),
              FILTERS, UPDATES, st.booleans()),
        named("delete_one", lambda f: lambda c: _result(c.delete_one(f)), FILTERS),
        named("delete_many", lambda f: lambda c: _result(c.delete_many(f)), FILTERS),
        named("bulk_write", lambda ws, ordered: lambda c: _result(c.bulk_write([_copy(w) for w in ws], ordered)),
              st.lists(WRITES, min_size=1, max_size=4), st.booleans()),
    )  # fmt: skip


def _kind(error: PyMongoError) -> Any:
    """The class, and for bulk writes what was done and what was refused."""
    if isinstance(error, BulkWriteError):
        counts = {name: value for name, value in error.details.items() if name.startswith("n") and value}
        return BulkWriteError, counts, [item["index"] for item in error.details["writeErrors"]]
    return next(kind for kind in (DuplicateKeyError, WriteError, PyMongoError) if isinstance(error, kind))


def _answer(operation: Operation, collection: Any) -> Any:
    try:
        return operation(collection)
    except PyMongoError as error:
        return _kind(error)


INDEXES = [
    [],
    [IndexModel(["archetype.sid"])],
    [IndexModel([("archetype.sid", 1), ("archetype.ver", 1)]), IndexModel(["name"])],
    [IndexModel(["edges"]), IndexModel(["parts.n"]), IndexModel([("archetype.ver", -1)])],
    [IndexModel(["archetype"]), IndexModel(["archetype.gone"]), IndexModel([("name", 1), ("edges", 1)])],
]


@pytest.fixture(autouse=True)
def mongomock_knows_pymongo_4_11(monkeypatch: pytest.MonkeyPatch) -> None:
    """mongomock 4.3 doesn't know the `sort` of an UpdateOne, which is never set here."""
    add_update = mongomock.collection.BulkOperationBuilder.add_update

    def without_sort(self: Any, *arguments: Any, sort: None = None, **options: Any) -> None:
        add_update(self, *arguments, **options)

    monkeypatch.setattr(mongomock.collection.BulkOperationBuilder, "add_update", without_sort)


@contextmanager
def fresh_collection(path: Path) -> Iterator[Collection]:
    with TemporaryDirectory(dir=path) as folder, open_store(Path(folder) / "store.db", fsync=False) as store:
        yield store.client.get_database("jaseci").get_collection("node")


@pytest.mark.filterwarnings("ignore::DeprecationWarning:mongomock")
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    start=st.lists(documents(), max_size=8, unique_by=lambda document: document["_id"]),
    operations=st.lists(_operations(), min_size=1, max_size=6),
    indexes=st.sampled_from(INDEXES),
)
def test_the_same_calls_give_the_same_answers_with_any_index(
    tmp_path: Path, start: list[Json], operations: list[tuple[str, Operation]], indexes: list[IndexModel]
) -> None:
    with fresh_collection(tmp_path) as ours:
        theirs: Any = mongomock.MongoClient().jaseci.node
        if indexes:
            ours.create_indexes(indexes)
        for document in start:
            ours.insert_one(dict(document))
            theirs.insert_one(dict(document))
        for name, operation in operations:
            assert _answer(operation, ours) == _answer(operation, theirs), name
            assert list(ours.find()) == list(theirs.find()), name


@pytest.mark.filterwarnings("ignore::DeprecationWarning:mongomock")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=st.lists(WRITES, min_size=1, max_size=8))
def test_unique_indexes_refuse_the_same_writes(tmp_path: Path, writes: list[Any]) -> None:
    with fresh_collection(tmp_path) as ours:
        theirs: Any = mongomock.MongoClient().jaseci.node
        for collection in (ours, theirs):
            collection.create_index([("archetype.sid", 1)], unique=True)
        for write in writes:
            if isinstance(write, UpdateMany):
                continue

            def bulk(collection: Any, write: Any = write) -> Any:
                return _result(collection.bulk_write([_copy(write)]))

            assert _answer(bulk, ours) == _answer(bulk, theirs), write
            assert list(ours.find()) == list(theirs.find()), write
