"""How long the embedded store takes: medians over a file in a temporary folder.

    python bench/store.py [--no-fsync] [--folder DIR]
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bson import ObjectId
from pymongo import IndexModel, InsertOne

from contextrender.store import open_store
from contextrender.store.client import Client
from contextrender.store.collection import Collection

EVENTS = 2000
SESSIONS = 10


def median(work: Callable[[], object], times: int) -> float:
    """Median seconds of a call."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def event(session: str, version: int) -> dict[str, object]:
    """A node as jac-cloud stores it, with 1.5 KB of content."""
    return {
        "_id": ObjectId(),
        "name": "ToolResult",
        "root": ObjectId(),
        "access": {"all": "NO_ACCESS", "roots": {"anchors": {}}},
        "archetype": {"sid": session, "ver": version, "position": version, "turn": version // 4, "text": "x" * 1500},
        "edges": [f"e:Follows:{ObjectId()}", f"e:Follows:{ObjectId()}"],
    }


def fill(nodes: Collection) -> None:
    """Some sessions of `EVENTS` events each, written in turns."""
    nodes.create_indexes([IndexModel(["archetype.sid", "archetype.ver"])])
    for start in range(0, EVENTS, 100):
        for session in range(SESSIONS):
            nodes.insert_many([event(f"s{session}", version) for version in range(start, start + 100)])


def commit_ten(client: Client, nodes: Collection) -> None:
    """One transaction of ten new nodes."""
    with client.start_session() as session, session.start_transaction():
        nodes.bulk_write([InsertOne(event("new", version)) for version in range(10)], False, session)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--no-fsync", action="store_true", help="commit without waiting for the disk")
    options.add_argument("--folder", help="where the temporary folder is made")
    chosen = options.parse_args()
    with (
        tempfile.TemporaryDirectory(dir=chosen.folder) as folder,
        open_store(Path(folder) / "bench.db", fsync=not chosen.no_fsync) as store,
    ):
        nodes = store.client.get_database("jaseci").get_collection("node")
        fill(nodes)
        one = nodes.find_one({"archetype.sid": "s3", "archetype.ver": 700})
        assert one is not None
        load = {"archetype.sid": "s3", "archetype.ver": {"$lte": EVENTS}}
        newer = {"archetype.sid": "s3", "archetype.ver": {"$gt": EVENTS - 11, "$lte": EVENTS}}
        assert len(list(nodes.find(load))) == EVENTS
        find_one = median(lambda: nodes.find_one({"_id": one["_id"]}), 5000)
        print(f"find_one by _id                {find_one * 1e6:8.1f} µs")
        print(f"load a session of {EVENTS:,} events {median(lambda: list(nodes.find(load)), 20) * 1e3:8.2f} ms")
        print(f"load its 10 newest events      {median(lambda: list(nodes.find(newer)), 300) * 1e3:8.2f} ms")
        print(f"commit 10 new documents        {median(lambda: commit_ten(store.client, nodes), 100) * 1e3:8.2f} ms")
        increment = {"$inc": {"archetype.version": 1}}
        bump = median(lambda: nodes.update_one({"_id": one["_id"]}, increment), 100)
        print(f"update one document            {bump * 1e3:8.2f} ms")


if __name__ == "__main__":
    main()
