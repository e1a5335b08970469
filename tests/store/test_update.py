"""Update operators by example, where mongomock differs from MongoDB, and what is refused."""

from typing import Any

import pytest
from pymongo.errors import OperationFailure, WriteError

from contextrender.store import Collection
from contextrender.store.query import normal
from contextrender.store.update import apply_update


def updated(document: dict[str, Any], update: dict[str, Any]) -> dict[str, Any]:
    apply_update(document, normal(update))
    return document


@pytest.mark.parametrize(
    ("document", "update", "expected"),
    [
        ({"a": [{"b": 1}]}, {"$set": {"a.0.b": 2}}, {"a": [{"b": 2}]}),
        ({"a": [1]}, {"$set": {"a.3": 4}}, {"a": [1, None, None, 4]}),
        ({"a": [1, 2]}, {"$unset": {"a.0": 1}}, {"a": [None, 2]}),
        ({}, {"$unset": {"a.b": 1}}, {}),
        ({"a": [1]}, {"$addToSet": {"a": {"$each": [1.0, 2, 2, True]}}}, {"a": [1, 2, True]}),
        ({"a": [{"b": 1, "c": 2}]}, {"$pull": {"a": {"b": 1}}}, {"a": []}),
        ({"a": [1, 2, 3, 2]}, {"$pull": {"a": {"$gte": 2}}}, {"a": [1]}),
        ({"a": [1, True, 1.0]}, {"$pull": {"a": 1}}, {"a": [True]}),
        ({"a": 1}, {"$inc": {"a": 0.5, "b": 2}}, {"a": 1.5, "b": 2}),
        ({"a": {}}, {"$push": {"a.b": {"$each": []}}}, {"a": {"b": []}}),
        ({"a": 1}, {"$setOnInsert": {"a": 2}}, {"a": 1}),
    ],
)
def test_an_operator_does_what_it_does_in_mongodb(
    document: dict[str, Any], update: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert updated(document, update) == expected


@pytest.mark.parametrize(
    ("update", "code"),
    [
        ({"$inc": {"text": 1}}, 14),
        ({"$inc": {"none": 1}}, 14),
        ({"$inc": {"big": 1}}, 2),
        ({"$push": {"text": 1}}, 2),
        ({"$addToSet": {"none": 1}}, 2),
        ({"$pull": {"text": 1}}, 2),
        ({"$set": {"text.inside": 1}}, 28),
        ({"$set": {"list.name": 1}}, 28),
        ({"$set": {"a": 1}, "$unset": {"a": 1}}, 40),
        ({"$set": {"a": 1, "a.b": 1}}, 40),
        ({"$set": {"_id": 2}}, 66),
        ({"$unset": {"_id": 1}}, 66),
        ({"$set": {"a..b": 1}}, 56),
        ({"$set": 1}, 9),
    ],
)
def test_what_mongodb_refuses_is_refused_with_its_code_and_changes_nothing(
    nodes: Collection, update: dict[str, Any], code: int
) -> None:
    document = {"_id": 1, "text": "t", "none": None, "big": 2**63 - 1, "list": []}
    nodes.insert_one(dict(document))
    with pytest.raises(WriteError) as refused:
        nodes.update_one({"_id": 1}, update)
    assert refused.value.code == code
    assert nodes.find_one() == document


@pytest.mark.parametrize(
    "update",
    [
        {"$rename": {"a": "b"}},
        {"$max": {"a": 1}},
        {"$push": {"list": {"$each": [1], "$slice": 1}}},
        {"$set": {"list.$": 1}},
        {"$set": {"list.$[]": 1}},
        [{"$set": {"a": 1}}],
    ],
)
def test_an_unsupported_operator_is_an_error(nodes: Collection, update: Any) -> None:
    nodes.insert_one({"_id": 1, "list": [1]})
    with pytest.raises(OperationFailure, match="not supported"):
        nodes.update_one({"_id": 1}, update)
    assert nodes.find_one() == {"_id": 1, "list": [1]}


def test_a_replacement_document_is_refused_as_by_pymongo(nodes: Collection) -> None:
    with pytest.raises(ValueError, match=r"\$ operators"):
        nodes.update_one({}, {"a": 1})
    with pytest.raises(ValueError, match="empty"):
        nodes.update_one({}, {})


def test_update_many_changes_every_document_or_none(nodes: Collection) -> None:
    nodes.insert_many([{"_id": 1, "n": 1}, {"_id": 2, "n": "text"}])
    with pytest.raises(WriteError):
        nodes.update_many({}, {"$inc": {"n": 1}})
    assert list(nodes.find()) == [{"_id": 1, "n": 1}, {"_id": 2, "n": "text"}]


def test_setting_the_value_that_is_there_modifies_nothing(nodes: Collection) -> None:
    nodes.insert_one({"_id": 1, "a": {"b": [1, 2.5, None]}})
    result = nodes.update_one({"_id": 1}, {"$set": {"a.b": [1, 2.5, None]}})
    assert (result.matched_count, result.modified_count) == (1, 0)


def test_an_upsert_begins_with_the_filters_equalities(nodes: Collection) -> None:
    query = {"a.b": 1, "c": {"$eq": 2}, "d": {"$gt": 3}, "$and": [{"e": 4}]}
    result = nodes.update_one(query, {"$set": {"f": 5}, "$setOnInsert": {"g": 6}}, upsert=True)
    assert nodes.find_one() == {"_id": result.upserted_id, "a": {"b": 1}, "c": 2, "e": 4, "f": 5, "g": 6}
