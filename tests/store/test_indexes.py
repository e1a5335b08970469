"""Indexes: declared as for MongoDB, unique ones enforced, kept right by every process."""

from collections.abc import Callable
from typing import Any

import pytest
from pymongo import IndexModel
from pymongo.errors import BulkWriteError, DuplicateKeyError, OperationFailure

from contextrender.store import Collection, Store

ANY_CASE = {"locale": "en", "strength": 2}


def test_a_unique_index_refuses_the_second_document(nodes: Collection) -> None:
    nodes.create_indexes([IndexModel(["email"], unique=True)])
    nodes.insert_one({"_id": 1, "email": "a@b.co"})
    with pytest.raises(DuplicateKeyError) as refused:
        nodes.insert_one({"_id": 2, "email": "a@b.co"})
    assert (refused.value.code, refused.value.details) == (11000, {"code": 11000, "keyPattern": {"email": 1}})
    nodes.insert_one({"_id": 3, "email": "A@b.co"})
    with pytest.raises(DuplicateKeyError):
        nodes.update_one({"_id": 3}, {"$set": {"email": "a@b.co"}})
    assert [document["email"] for document in nodes.find()] == ["a@b.co", "A@b.co"]


def test_the_error_never_shows_the_value_that_is_taken(nodes: Collection) -> None:
    nodes.create_index("email", unique=True)
    nodes.insert_one({"email": "secret@b.co"})
    with pytest.raises(DuplicateKeyError) as one:
        nodes.insert_one({"email": "secret@b.co"})
    with pytest.raises(BulkWriteError) as many:
        nodes.insert_many([{"email": "secret@b.co"}])
    assert "secret" not in f"{one.value} {one.value.details} {many.value} {many.value.details}"


def test_a_collation_of_strength_2_makes_uniqueness_ignore_case(nodes: Collection) -> None:
    nodes.create_indexes([IndexModel(["email"], unique=True, collation=ANY_CASE)])
    nodes.insert_one({"_id": 1, "email": "Bob@b.co"})
    with pytest.raises(DuplicateKeyError):
        nodes.insert_one({"_id": 2, "email": "bOB@b.co"})
    assert nodes.find_one({"email": "bob@b.co"}) is None, "a filter without that collation still tells case"
    assert nodes.find_one({"email": "Bob@b.co"}) is not None


def test_a_missing_field_counts_as_null_in_a_unique_index(nodes: Collection) -> None:
    nodes.create_index([("a", 1), ("b", 1)], unique=True)
    nodes.insert_one({"a": 1})
    nodes.insert_one({"a": 1, "b": 1})
    with pytest.raises(DuplicateKeyError):
        nodes.insert_one({"a": 1, "b": None})


def test_a_deleted_value_is_free_again(nodes: Collection) -> None:
    nodes.create_index("email", unique=True)
    nodes.insert_one({"_id": 1, "email": "a"})
    nodes.delete_one({"_id": 1})
    nodes.insert_one({"_id": 2, "email": "a"})
    nodes.update_one({"_id": 2}, {"$set": {"email": "b"}})
    nodes.insert_one({"_id": 3, "email": "a"})


def test_a_unique_index_is_refused_when_documents_break_it_already(store: Store, nodes: Collection) -> None:
    nodes.insert_many([{"a": 1}, {"a": 1.0}])
    with pytest.raises(DuplicateKeyError):
        nodes.create_index("a", unique=True)
    nodes.insert_one({"a": 1})
    assert store.check() == []


def test_the_same_index_again_changes_nothing_and_another_of_its_name_is_refused(nodes: Collection) -> None:
    for _ in range(2):
        assert nodes.create_indexes([IndexModel(["a"]), IndexModel([("_id", 1), ("name", 1)])]) == [
            "a_1",
            "_id_1_name_1",
        ]
    with pytest.raises(OperationFailure, match="a_1") as refused:
        nodes.create_index("a", unique=True)
    assert refused.value.code == 86


@pytest.mark.parametrize(
    "options",
    [
        {"sparse": True},
        {"expireAfterSeconds": 5},
        {"partialFilterExpression": {"a": 1}},
        {"collation": {"locale": "en"}},
    ],
)
def test_an_option_that_would_be_ignored_is_refused(nodes: Collection, options: dict[str, Any]) -> None:
    with pytest.raises(OperationFailure, match="not supported"):
        nodes.create_index("a", **options)
    with pytest.raises(OperationFailure, match="not supported"):
        nodes.create_index([("a", "text")])


def test_an_array_in_a_unique_index_is_refused_and_in_another_one_found(nodes: Collection) -> None:
    nodes.create_indexes([IndexModel(["tags"]), IndexModel(["email"], unique=True)])
    nodes.insert_one({"_id": 1, "tags": ["a", "b"], "email": "x"})
    nodes.insert_one({"_id": 2, "tags": "b", "email": "y"})
    assert [document["_id"] for document in nodes.find({"tags": "b"})] == [1, 2]
    assert [document["_id"] for document in nodes.find({"tags": {"$gt": "a"}})] == [1, 2]
    with pytest.raises(OperationFailure, match="array in the unique index"):
        nodes.insert_one({"email": ["x"]})


def test_an_index_made_by_one_process_is_filled_by_the_others(
    store: Store, nodes: Collection, reopened: Callable[[], Collection]
) -> None:
    other = reopened()
    other.insert_one({"_id": 1, "sid": "s"})
    nodes.create_index("sid")
    other.insert_one({"_id": 2, "sid": "s"})
    other.update_one({"_id": 1}, {"$set": {"sid": "t"}})
    assert [document["_id"] for document in nodes.find({"sid": "s"})] == [2]
    assert [document["_id"] for document in other.find({"sid": "t"})] == [1]
    assert store.check() == []
