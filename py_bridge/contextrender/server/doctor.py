"""Is a data folder sound: its permissions, its file, and the graph in it? What can be repaired is."""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jac_cloud.core.archetype import EdgeAnchor, NodeAnchor
from pymongo import DeleteOne, UpdateOne

from contextrender.server.graph import ids_of
from contextrender.server.platform import Platform
from contextrender.server.residents import VECTORS
from contextrender.server.sessions import CALLS, LEASES

_BATCH = 500


def examine(platform: Platform, repair: bool = False) -> list[str]:
    """Everything wrong, a line each, and with `repair` whether it was put right. Stop the server before a repair."""
    return [*_permissions(platform.data, repair), *_file(platform), *_links(repair), *_leftovers(repair)]


def _permissions(data: Path, repair: bool) -> Iterator[str]:
    for path in [data, *data.iterdir()]:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            if repair:
                path.chmod(mode & 0o700)
            yield _told(f"{path}: others may read it (mode {mode:o})", repair)


def _file(platform: Platform) -> Iterator[str]:
    if platform.store is not None:
        for problem in platform.store.check():
            yield f"{problem}: can't be repaired; restore a backup, or export what can still be read"


def _links(repair: bool) -> Iterator[str]:
    """Edges without an end, and references to edges that are not there."""
    nodes, edges = NodeAnchor.Collection.collection(), EdgeAnchor.Collection.collection()
    known = {node["_id"] for node in nodes.find({}, {"_id": 1})}
    joined: set[Any] = set()
    lost, loose = [], []
    for edge in edges.find({}, {"source": 1, "target": 1, "name": 1}):
        ends = ids_of([edge["source"], edge["target"]])
        if all(end in known for end in ends):
            joined.add(edge["_id"])
        else:
            lost.append(DeleteOne({"_id": edge["_id"]}))
            yield _told(f"edge {edge['name']} {edge['_id']}: an end of it is missing", repair)
    for node in nodes.find({}, {"edges": 1, "name": 1}):
        for reference in node.get("edges", []):
            if ids_of([reference])[0] not in joined:
                loose.append(UpdateOne({"_id": node["_id"]}, {"$pull": {"edges": reference}}))
                yield _told(f"node {node['name']} {node['_id']}: refers to a missing edge", repair)
    if repair:
        for collection, writes in ((edges, lost), (nodes, loose)):
            for start in range(0, len(writes), _BATCH):
                collection.bulk_write(writes[start : start + _BATCH])


def _leftovers(repair: bool) -> Iterator[str]:
    """What belongs to sessions that are gone."""
    sessions = {str(node["_id"]) for node in NodeAnchor.Collection.collection().find({"name": "Session"}, {"_id": 1})}
    for name, field in ((VECTORS, "sid"), (CALLS, "sid"), (LEASES, "_id")):
        rows = NodeAnchor.Collection.get_collection(name)
        for sid in sorted({row[field] for row in rows.find({}, {field: 1})} - sessions):
            if repair:
                rows.delete_many({field: sid})
            yield _told(f"{name}: rows of session {sid}, which is gone", repair)


def _told(what: str, repaired: bool) -> str:
    return f"{what}: repaired" if repaired else what
