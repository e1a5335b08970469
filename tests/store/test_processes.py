"""Many threads, many processes and forks on one file."""

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pymongo import IndexModel

import contextrender.store
from contextrender.store import Collection, Store, open_store

PACKAGES = str(Path(contextrender.store.__file__).parents[2])
ENVIRONMENT = {**os.environ, "PYTHONPATH": PACKAGES}

COUNT = """
import sys
from pathlib import Path
from pymongo.errors import PyMongoError
from contextrender.store import open_store
store = open_store(Path(sys.argv[1]), busy_timeout=30, fsync=False)
nodes = store.client.get_database("jaseci").get_collection("node")
nodes.create_index("worker")
for step in range(100):
    with store.client.start_session() as session, session.start_transaction():
        found = nodes.find_one_and_update({"_id": "counter"}, {"$inc": {"n": 1}}, upsert=True, session=session)
        nodes.insert_one({"worker": sys.argv[2], "seen": found["n"] if found else 0}, session=session)
    store.redis.rpush("queue", sys.argv[2])
"""


def nodes_of(store: Store) -> Collection:
    return store.client.get_database("jaseci").get_collection("node")


def test_processes_that_open_a_new_file_at_once_count_together_without_a_loss(path: Path) -> None:
    workers = [subprocess.Popen([sys.executable, "-c", COUNT, str(path), f"w{n}"], env=ENVIRONMENT) for n in range(4)]
    assert [worker.wait() for worker in workers] == [0] * 4
    with open_store(path) as store:
        nodes = nodes_of(store)
        assert nodes.find_one({"_id": "counter"}) == {"_id": "counter", "n": 400}
        assert sorted(document["seen"] for document in nodes.find({"seen": {"$exists": True}})) == list(range(400))
        assert nodes.count_documents({"worker": "w2"}) == 100
        assert len(store.redis.lpop("queue", 1000) or []) == 400
        assert store.check() == []


def test_threads_write_and_read_together_without_a_loss(store: Store) -> None:
    nodes = nodes_of(store)
    nodes.create_indexes([IndexModel([("sid", 1), ("ver", 1)])])
    problems: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for version in range(50):
                nodes.insert_one({"sid": name, "ver": version})
                assert [document["ver"] for document in nodes.find({"sid": name})] == list(range(version + 1))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert nodes.count_documents({}) == 300


def test_a_finished_thread_leaves_no_connection_open(store: Store) -> None:
    for _ in range(20):
        thread = threading.Thread(target=lambda: nodes_of(store).find_one({"_id": 1}))
        thread.start()
        thread.join()
    assert len(store.file._links) == 1


def _in_child(work: Callable[[], object]) -> int:
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
    return child.exitcode or 0


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_and_its_parent_use_the_same_store(store: Store) -> None:
    nodes = nodes_of(store)
    nodes.insert_one({"_id": "parent"})
    assert _in_child(lambda: nodes.insert_one({"_id": "child"})) == 0
    nodes.insert_one({"_id": "after"})
    assert [document["_id"] for document in nodes.find()] == ["parent", "child", "after"]
    assert store.check() == []


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_during_a_transaction_leaves_it_to_the_parent(store: Store) -> None:
    nodes = nodes_of(store)
    session = store.client.start_session()
    session.start_transaction()
    nodes.insert_one({"_id": "inside"}, session=session)

    def child() -> None:
        session.end_session()
        assert nodes.find_one({"_id": "inside"}) is None

    assert _in_child(child) == 0
    session.commit_transaction()
    assert nodes.find_one({"_id": "inside"}) is not None
    assert store.check() == []
