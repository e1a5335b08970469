"""Filters and projections by example: what MongoDB documents, and what is refused."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from bson import ObjectId
from bson.errors import InvalidDocument
from pymongo import IndexModel
from pymongo.errors import OperationFailure

from contextrender.store import Collection, Store
from contextrender.store.query import filter_test, normal, plan


def matches(query: dict[str, Any], document: dict[str, Any]) -> bool:
    return filter_test(normal(query))(normal(document))


@pytest.mark.parametrize(
    ("query", "document", "expected"),
    [
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": None}, {}, True),
        ({"a": None}, {"a": []}, False),
        ({"a.b": None}, {"a": {}}, True),
        ({"a.b": None}, {"a": [{}]}, True),
        ({"a.b": None}, {"a": []}, False),
        ({"a.b": None}, {"a": [1, 2]}, False),
        ({"a": {"$ne": None}}, {"a": 0}, True),
        ({"a": {"$gt": "a"}}, {"a": 5}, False),
        ({"a": {"$lt": 5}}, {"a": None}, False),
        ({"a": {"$lt": 5}}, {"a": float("nan")}, False),
        ({"a": {"$gte": None}}, {}, True),
        ({"a": {"$gt": 3, "$lt": 6}}, {"a": [1, 9]}, True),
        ({"a.n": {"$gte": 1, "$lte": 0}}, {"a": [{"n": 0}, {"n": 1}]}, True),
        ({"a": [1, 2]}, {"a": [1, 2]}, True),
        ({"a": [1, 2]}, {"a": [[1, 2]]}, True),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 2, "b": 1}}, False),
        ({"a.0.b": 1}, {"a": [{"b": 1}]}, True),
        ({"a.b": {"$exists": False}}, {"a": [{"c": 1}]}, True),
        ({"a": {"$in": [None]}}, {}, True),
        ({"a": {"$in": []}}, {"a": 1}, False),
        ({"a": {}}, {"a": {}}, True),
        ({"at": datetime(2026, 1, 1, tzinfo=UTC)}, {"at": datetime(2026, 1, 1)}, True),
    ],
)
def test_a_filter_means_what_it_means_in_mongodb(
    query: dict[str, Any], document: dict[str, Any], expected: bool
) -> None:
    assert matches(query, document) is expected


@pytest.mark.parametrize(
    "query",
    [
        {"a": {"$regex": "x"}},
        {"a": re.compile("x")},
        {"a": {"$in": [re.compile("x")]}},
        {"a": {"$not": {"$gt": 1}}},
        {"a": {"$elemMatch": {"b": 1}}},
        {"a": {"$gt": {"b": 1}}},
        {"a": {"$size": 1}},
        {"$where": "1"},
        {"$text": {}},
        {"a": {"$gt": 1, "b": 2}},
        {"a": {"$in": 1}},
        {"$or": []},
        {"$and": {}},
        {"$or": [1]},
    ],
)
def test_an_unknown_or_malformed_operator_is_an_error_even_without_documents(
    nodes: Collection, query: dict[str, Any]
) -> None:
    for call in (nodes.find, nodes.find_one, nodes.count_documents, nodes.delete_many):
        with pytest.raises(OperationFailure):
            call(query)


def test_what_bson_cannot_hold_is_refused_as_by_pymongo(nodes: Collection) -> None:
    with pytest.raises(InvalidDocument):
        nodes.find_one({"a": {1, 2}})
    with pytest.raises(OverflowError):
        nodes.insert_one({"a": 1 << 64})
    with pytest.raises(TypeError, match="filter"):
        nodes.find(["a"])  # type: ignore[arg-type]
    assert list(nodes.find()) == []


def test_find_one_takes_an_id_in_place_of_a_filter(nodes: Collection) -> None:
    nodes.insert_one({"_id": 7})
    assert nodes.find_one(7) == {"_id": 7}


def test_an_enum_or_tuple_in_a_document_is_found_by_its_plain_value(nodes: Collection) -> None:
    nodes.create_indexes([IndexModel(["pair"]), IndexModel(["id"])])
    identity = ObjectId()
    nodes.insert_one({"_id": 1, "pair": (1, 2), "id": identity})
    assert nodes.find_one({"pair": [1, 2]}) == nodes.find_one({"pair": 2}) == nodes.find_one({"id": identity})
    assert nodes.find_one({"pair": 2}) is not None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (None, {"_id": 1, "a": {"b": 1, "c": 2}, "d": [{"e": 1, "f": 2}]}),
        ({}, {"_id": 1, "a": {"b": 1, "c": 2}, "d": [{"e": 1, "f": 2}]}),
        ({"a": 1}, {"_id": 1, "a": {"b": 1, "c": 2}}),
        ({"a.b": True, "_id": 0}, {"a": {"b": 1}}),
        (["d.e"], {"_id": 1, "d": [{"e": 1}]}),
        ({"d.e": 0, "a": 0}, {"_id": 1, "d": [{"f": 2}]}),
        ({"_id": 1}, {"_id": 1}),
        ({"a": 0, "_id": 1}, {"_id": 1, "d": [{"e": 1, "f": 2}]}),
        ({"a": 0, "d": 0, "_id": 0}, {}),
    ],
)
def test_a_projection_keeps_or_leaves_out_the_named_fields(nodes: Collection, fields: Any, expected: Any) -> None:
    nodes.insert_one({"_id": 1, "a": {"b": 1, "c": 2}, "d": [{"e": 1, "f": 2}]})
    assert nodes.find_one({}, fields) == expected
    assert nodes.find_one({"_id": 1}, fields) == expected


@pytest.mark.parametrize("fields", [{"a": 1, "b": 0}, {"a": {"$slice": 1}}, {"a.$": 1}, {"a": "$b"}])
def test_another_kind_of_projection_is_refused(nodes: Collection, fields: dict[str, Any]) -> None:
    with pytest.raises(OperationFailure):
        nodes.find({}, fields)


def test_other_parts_of_mongodb_are_refused_by_name(store: Store, nodes: Collection) -> None:
    with pytest.raises(OperationFailure, match="aggregate is not supported"):
        nodes.aggregate([])
    with pytest.raises(TypeError):
        nodes.find({}, hint="a_1")  # type: ignore[call-arg]


def test_a_session_query_uses_the_index_and_needs_no_second_look(store: Store, nodes: Collection) -> None:
    nodes.create_index([("archetype.sid", 1), ("archetype.ver", 1)])
    link = store.file.link()
    table = link.catalog.find("jaseci", "node")
    assert table is not None
    chosen = plan({"archetype.sid": "s", "archetype.ver": {"$gt": 1, "$lte": 5}}, table.name, table.indexes)
    assert chosen.sure != "0"
    steps = link.db.execute(
        f"EXPLAIN QUERY PLAN SELECT seq, doc FROM {table.name} WHERE {chosen.where} ORDER BY seq", chosen.parameters
    ).fetchall()
    said = " ".join(step[-1] for step in steps)
    assert f"SEARCH {table.name} USING COVERING INDEX {table.name}_key_001 (key_001>? AND key_001<?)" in said
    assert "SCAN " + table.name not in said


def test_many_ids_are_looked_up_by_key_however_many_they_are(store: Store, nodes: Collection) -> None:
    identities = [ObjectId() for _ in range(40_000)]
    nodes.insert_many([{"_id": identity} for identity in identities[:50]])
    query = {"_id": {"$in": identities[::-1]}}
    assert [document["_id"] for document in nodes.find(query)] == identities[:50]
    link = store.file.link()
    chosen = plan(query, "documents_1", ())
    steps = link.db.execute(
        f"EXPLAIN QUERY PLAN SELECT doc FROM documents_1 WHERE {chosen.where}", chosen.parameters
    ).fetchall()
    assert "SEARCH documents_1 USING COVERING INDEX" in " ".join(step[-1] for step in steps)


def test_a_cursor_is_not_disturbed_by_writes_after_its_first_document(nodes: Collection) -> None:
    nodes.insert_many([{"_id": number} for number in range(5)])
    cursor = nodes.find()
    seen = [next(cursor)["_id"]]
    nodes.delete_many({})
    assert seen + [document["_id"] for document in cursor] == [0, 1, 2, 3, 4]
    assert list(cursor) == []
