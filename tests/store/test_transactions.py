"""Sessions and transactions: what commits, what is undone, who waits, and what a killed process leaves."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from bson import ObjectId
from pymongo import DeleteMany, InsertOne, UpdateOne
from pymongo.errors import BulkWriteError, DuplicateKeyError, InvalidOperation, OperationFailure

import contextrender.store
from contextrender.store import Collection, Store, StoreLockedError, open_store

PACKAGES = str(Path(contextrender.store.__file__).parents[2])


def ids(nodes: Collection) -> list[object]:
    return [document["_id"] for document in nodes.find()]


def test_a_committed_transaction_is_seen_by_others_only_after_its_commit(
    store: Store, nodes: Collection, reopened: Callable[[], Collection]
) -> None:
    other = reopened()
    with store.client.start_session() as session, session.start_transaction():
        nodes.insert_one({"_id": 1}, session=session)
        assert nodes.find_one({"_id": 1}, session=session) == {"_id": 1}
        assert nodes.find_one({"_id": 1}) is None, "reading without the session sees what is committed"
        assert other.find_one({"_id": 1}) is None
    assert ids(nodes) == ids(other) == [1]


def test_an_aborted_transaction_leaves_nothing(store: Store, nodes: Collection) -> None:
    nodes.insert_one({"_id": 1, "n": 0})
    with store.client.start_session() as session:
        session.start_transaction()
        nodes.bulk_write([InsertOne({"_id": 2}), UpdateOne({"_id": 1}, {"$inc": {"n": 1}})], False, session)
        session.abort_transaction()
    assert list(nodes.find()) == [{"_id": 1, "n": 0}]


def test_an_exception_in_the_block_aborts(store: Store, nodes: Collection) -> None:
    def interrupted() -> None:
        with store.client.start_session() as session, session.start_transaction():
            nodes.insert_one({"_id": 1}, session=session)
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert ids(nodes) == []
    nodes.insert_one({"_id": 2})


def test_an_aborted_transaction_takes_its_new_collection_and_index_with_it(store: Store) -> None:
    database = store.client.get_database("jaseci")
    with store.client.start_session() as session:
        session.start_transaction()
        database.get_collection("fresh").insert_one({"_id": 1}, session=session)
        database.get_collection("fresh").create_index("a", session=session)
        session.abort_transaction()
    assert database.list_collection_names() == []
    database.get_collection("fresh").insert_one({"_id": 1, "a": 2})
    assert list(database.get_collection("fresh").find({"a": 2})) == [{"_id": 1, "a": 2}]
    assert store.check() == []


def test_a_failed_write_undoes_the_whole_transaction_and_says_so_to_the_end(store: Store, nodes: Collection) -> None:
    nodes.insert_one({"_id": 1})
    with store.client.start_session() as session:
        session.start_transaction()
        nodes.insert_one({"_id": 2}, session=session)
        with pytest.raises(DuplicateKeyError):
            nodes.insert_one({"_id": 1}, session=session)
        with pytest.raises(OperationFailure, match="undone") as later:
            nodes.insert_one({"_id": 3}, session=session)
        assert later.value.has_error_label("TransientTransactionError")
        with pytest.raises(OperationFailure, match="undone"):
            session.commit_transaction()
        session.start_transaction()
        nodes.insert_one({"_id": 4}, session=session)
        session.commit_transaction()
    assert ids(nodes) == [1, 4]


def test_a_failed_bulk_write_in_a_transaction_undoes_it(store: Store, nodes: Collection) -> None:
    with pytest.raises(BulkWriteError), store.client.start_session() as session, session.start_transaction():
        nodes.bulk_write([InsertOne({"_id": 1}), InsertOne({"_id": 1})], False, session)
    assert ids(nodes) == []


def test_calls_out_of_order_are_refused(store: Store, nodes: Collection) -> None:
    session = store.client.start_session()
    with pytest.raises(InvalidOperation):
        session.commit_transaction()
    with pytest.raises(InvalidOperation):
        session.abort_transaction()
    session.start_transaction()
    with pytest.raises(InvalidOperation, match="in progress"):
        session.start_transaction()
    nodes.insert_one({"_id": 1}, session=session)
    session.commit_transaction()
    session.commit_transaction()  # as in MongoDB, a commit may be repeated
    session.end_session()
    with pytest.raises(InvalidOperation, match="ended"):
        session.start_transaction()


def test_a_write_beside_the_threads_own_transaction_is_refused_at_once(store: Store, nodes: Collection) -> None:
    with store.client.start_session() as session, session.start_transaction():
        nodes.insert_one({"_id": 1}, session=session)
        with pytest.raises(InvalidOperation, match="pass its session"):
            nodes.insert_one({"_id": 2})
        with store.client.start_session() as second, second.start_transaction():
            with pytest.raises(InvalidOperation, match="another transaction"):
                nodes.insert_one({"_id": 3}, session=second)
            second.abort_transaction()
    assert ids(nodes) == [1]


def test_a_forgotten_session_frees_the_writers_place(store: Store, nodes: Collection) -> None:
    session = store.client.start_session()
    session.start_transaction()
    nodes.insert_one({"_id": 1}, session=session)
    del session
    nodes.insert_one({"_id": 2})
    assert ids(nodes) == [2]


def test_a_session_may_move_to_another_thread(store: Store, nodes: Collection) -> None:
    session = store.client.start_session()
    session.start_transaction()
    nodes.insert_one({"_id": 1}, session=session)

    def finish() -> None:
        nodes.insert_one({"_id": 2}, session)
        session.commit_transaction()

    thread = threading.Thread(target=finish)
    thread.start()
    thread.join()
    assert ids(nodes) == [1, 2]


def test_the_second_of_two_writers_waits_for_the_first(store: Store, nodes: Collection) -> None:
    nodes.insert_one({"_id": 1, "n": 0})
    ready = threading.Barrier(4)

    def count() -> None:
        ready.wait()
        for _ in range(25):
            with store.client.start_session() as session, session.start_transaction():
                found = nodes.find_one({"_id": 1}, session=session)
                assert found is not None
                nodes.update_one({"_id": 1}, {"$set": {"n": found["n"] + 1}}, session=session)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert nodes.find_one({"_id": 1}) == {"_id": 1, "n": 100}


@pytest.mark.parametrize("same_process", [True, False])
def test_a_conflict_has_mongodbs_label_and_the_same_session_can_try_again(path: Path, same_process: bool) -> None:
    with open_store(path, busy_timeout=0.1, fsync=False) as one, open_store(path, busy_timeout=0.1) as two:
        nodes = one.client.get_database("jaseci").get_collection("node")
        other_store = one if same_process else two
        others = other_store.client.get_database("jaseci").get_collection("node")
        holder, waiter = one.client.start_session(), other_store.client.start_session()
        holder.start_transaction()
        nodes.insert_one({"_id": 1}, session=holder)
        errors: list[StoreLockedError] = []

        def conflict() -> None:
            waiter.start_transaction()
            try:
                others.insert_one({"_id": 2}, session=waiter)
            except StoreLockedError as error:
                errors.append(error)

        thread = threading.Thread(target=conflict)
        thread.start()
        thread.join()
        assert errors[0].has_error_label("TransientTransactionError")
        assert isinstance(errors[0], OperationFailure)
        assert str(path) in str(errors[0])
        holder.commit_transaction()
        others.insert_one({"_id": 2}, session=waiter)
        waiter.commit_transaction()
        assert ids(nodes) == [1, 2]


WRITER = """
import sys
from pathlib import Path
from bson import ObjectId
from pymongo import InsertOne
from contextrender.store import open_store
store = open_store(Path(sys.argv[1]))
nodes = store.client.get_database("jaseci").get_collection("node")
for batch in range(1_000_000):
    with store.client.start_session() as session, session.start_transaction():
        nodes.bulk_write([InsertOne({"_id": ObjectId(), "batch": batch, "text": "x" * 2000}) for _ in range(10)],
                         False, session)
        print("writing", batch, flush=True)
    print("committed", batch, flush=True)
"""


@pytest.mark.faults
@pytest.mark.parametrize("last_line", ["writing 40", "committed 40"])
def test_a_killed_process_leaves_what_it_committed_and_nothing_else(path: Path, last_line: str) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": PACKAGES},
    )
    assert writer.stdout is not None
    acknowledged = -1
    for line in writer.stdout:
        if line.startswith("committed"):
            acknowledged = int(line.split()[1])
        if line.strip() == last_line:
            break
    writer.send_signal(signal.SIGKILL)
    rest = writer.stdout.read().splitlines()
    writer.stdout.close()
    writer.wait()
    acknowledged = max([acknowledged, *(int(line.split()[1]) for line in rest if line.startswith("committed"))])
    with open_store(path) as store:
        nodes = store.client.get_database("jaseci").get_collection("node")
        batches = [document["batch"] for document in nodes.find()]
        kept = len(batches) // 10
        assert batches == [batch for batch in range(kept) for _ in range(10)], "whole batches only"
        assert kept >= acknowledged + 1, "what was acknowledged is there"
        assert store.check() == []
        nodes.insert_one({"_id": ObjectId(), "batch": kept})


def test_bulk_deletion_and_insertion_of_one_id_in_one_transaction_keeps_the_new_one(
    store: Store, nodes: Collection
) -> None:
    nodes.insert_one({"_id": 1, "old": True})
    with store.client.start_session() as session, session.start_transaction():
        nodes.bulk_write([DeleteMany({"_id": {"$in": [1]}}), InsertOne({"_id": 1, "old": False})], True, session)
    assert nodes.find_one() == {"_id": 1, "old": False}
