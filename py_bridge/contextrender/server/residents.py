"""Stored sessions in memory: loaded once, compared with the stored version at every use, the longest unused dropped.

Several processes may use one database: each use reads the session's version, and takes in what others have added. A
write raises the version first, inside its transaction, so that writers of one session come one after the other.
"""

import random
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from bson import ObjectId
from jac_cloud.core.archetype import EdgeAnchor, NodeAnchor
from jac_cloud.jaseci.datasources import Collection
from pymongo.errors import PyMongoError

from contextrender.errors import ContextRenderError, NotFoundError
from contextrender.graph.archetypes import Showed
from contextrender.jac_runtime import Jac
from contextrender.server import metrics
from contextrender.server.graph import acting, nodes_of, object_id, write_new
from contextrender.server.stored import KEEP, StoredSession

TRIES = 6
"""Of a transaction that meets another writer."""
VECTORS = "contextrender_vector"


class _Resident:
    __slots__ = ("born", "lock", "session", "sid", "size", "version")

    def __init__(self, sid: str) -> None:
        self.sid = sid
        self.lock = threading.RLock()
        self.session: StoredSession | None = None
        self.version = -1
        self.born = 0.0
        self.size = 0

    def release(self) -> None:
        """Free the memory of a session that was dropped, unless somebody is at it."""
        if self.lock.acquire(blocking=False):
            try:
                session, self.session = self.session, None
                if session is not None:
                    session.release()
            finally:
                self.lock.release()


class Residents:
    """memory: bytes that resident sessions may take together; keep: renders that a session stays explainable for."""

    def __init__(self, memory: int, keep: int = KEEP) -> None:
        self._memory, self._keep = memory, keep
        self._held: OrderedDict[str, _Resident] = OrderedDict()
        self._guard = threading.Lock()

    @contextmanager
    def reading(self, owner: str, sid: str) -> Iterator[StoredSession]:
        """The session as it is now, for reading. Raises NotFoundError where it is not the owner's."""
        document = find_session(owner, sid)  # before the lock: nobody can hold up or time another owner's session
        resident = self._slot(sid)
        with resident.lock, acting(owner):
            try:
                yield self._current(resident, document, None)
            except BaseException as error:
                if not isinstance(error, ContextRenderError):
                    resident.session = None
                raise
            self._weigh(resident)

    def writing[T](
        self, owner: str, sid: str, work: Callable[[StoredSession], T], also: Callable[[T, Any], None] | None = None
    ) -> T:
        """Do `work` on the session in one transaction; what it returns is on disk.

        also: more to write, with the result and the transaction. Raises NotFoundError where the session is not the
        owner's, and what `work` raises: then nothing is written.
        """
        find_session(owner, sid)
        resident = self._slot(sid)
        for attempt in range(TRIES):
            with resident.lock, acting(owner) as context:
                try:
                    with Collection.get_session() as transaction, transaction.start_transaction():
                        session = self._next(resident, owner, transaction)
                        result = self._work(resident, session, work, context, transaction)
                        if also is not None:
                            also(result, transaction)
                    resident.version = session.node.ver
                    self._weigh(resident)
                    return result
                except PyMongoError as error:
                    resident.session = None
                    self.again(error, attempt)
                except ContextRenderError:
                    if resident.session is not None:
                        resident.session.node.ver = resident.version
                    raise
                except BaseException:
                    resident.session = None
                    raise
        raise AssertionError("unreachable")

    def again(self, error: PyMongoError, attempt: int, retry: bool = False) -> None:
        """Wait before another try of a transaction that met another writer; raise any other error."""
        if attempt + 1 == TRIES or not (retry or error.has_error_label("TransientTransactionError")):
            raise error
        metrics.CONFLICTS.inc()
        time.sleep(0.002 * 2**attempt * (0.5 + random.random()))

    def forget(self, sid: str) -> None:
        """Drop a session that is deleted."""
        with self._guard:
            self._held.pop(sid, None)

    def _slot(self, sid: str) -> _Resident:
        with self._guard:
            resident = self._held.setdefault(sid, _Resident(sid))
            self._held.move_to_end(sid)
            return resident

    def _weigh(self, resident: _Resident) -> None:
        """Count what a session weighs now, and drop the longest unused ones when all weigh too much."""
        resident.size = resident.session.size if resident.session is not None else 0
        dropped = []
        with self._guard:
            total = sum(other.size for other in self._held.values())
            for sid in list(self._held):
                if total <= self._memory or sid == resident.sid:
                    break
                dropped.append(self._held.pop(sid))
                total -= dropped[-1].size
            metrics.RESIDENTS.set(len(self._held))
            metrics.RESIDENT_BYTES.set(total)
        for other in dropped:
            other.release()

    def _next(self, resident: _Resident, owner: str, transaction: Any) -> StoredSession:
        """The session at its stored version, which is raised by one."""
        query = {"_id": object_id(resident.sid), "root": ObjectId(owner), "name": "Session"}
        raised = {"$inc": {"archetype.ver": 1}}
        document = NodeAnchor.Collection.collection().find_one_and_update(query, raised, session=transaction)
        if document is None:
            raise NotFoundError(f"no session {resident.sid!r}")
        version = document["archetype"]["ver"]
        session = self._current(resident, document, transaction)
        session.node.ver = version + 1
        return session

    def _work[T](
        self,
        resident: _Resident,
        session: StoredSession,
        work: Callable[[StoredSession], T],
        context: Any,
        transaction: Any,
    ) -> T:
        before, mark = set(session.snapshots), session.mark()
        try:
            result = work(session)
        except ContextRenderError:
            if session.mark() != mark:
                resident.session = None  # half of it was done, and is not written
            raise
        for name in [name for name in session.snapshots if name not in before]:
            hook, snapshot = session.snapshot_node(name)
            Jac.connect(hook, snapshot, edge=Showed(sid=session.node.sid, ver=session.node.ver))
        changed = {f"archetype.{name}": value for name, value in session.save().items()}
        write_new(context, transaction, {object_id(resident.sid): {**changed, "archetype.updated": time.time()}})
        _drop_snapshots(session, transaction)
        _store_vectors(session, transaction)
        return result

    def _current(self, resident: _Resident, document: dict[str, Any], transaction: Any) -> StoredSession:
        """The resident session, brought to the version of `document`."""
        sid, fields, session = resident.sid, document["archetype"], resident.session
        version, born = fields["ver"], fields["opened"]
        if session is not None and resident.born == born and resident.version >= version:
            return session
        if session is None or resident.born != born:
            metrics.LOADS.inc()
            session, after = StoredSession(next(nodes_of([document])), self._keep), 0
        else:
            metrics.CATCH_UPS.inc()
            after = resident.version
            for name in ("minted", "forks", "head", "renders", "ver"):
                setattr(session.node, name, fields[name])
        resident.session = None  # until it is whole
        query = {"archetype.sid": sid, "archetype.ver": {"$gt": after, "$lte": version}}
        found = NodeAnchor.Collection.collection().find(query, session=transaction)
        session.absorb(nodes_of(node for node in found if node["name"] != "Session"))
        for row in _vectors().find({"sid": sid, "ver": {"$gt": after, "$lte": version}}, session=transaction):
            session.vectors.load(row["key"], np.frombuffer(row["vector"], row["dtype"]))
        resident.session, resident.version, resident.born = session, version, born
        return session


def find_session(owner: str, sid: str) -> dict[str, Any]:
    """The document of the owner's session. Raises NotFoundError."""
    query = {"_id": object_id(sid), "root": ObjectId(owner), "name": "Session"}
    found: dict[str, Any] | None = NodeAnchor.Collection.collection().find_one(query)
    if found is None:
        raise NotFoundError(f"no session {sid[:64]!r}")
    return found


def delete_vectors(sid: str, transaction: Any) -> None:
    """Delete a session's embeddings."""
    _vectors().delete_many({"sid": sid}, session=transaction)


def _vectors() -> Any:
    return Collection.get_collection(VECTORS)


def _store_vectors(session: StoredSession, transaction: Any) -> None:
    vectors = session.vectors
    rows = [
        {
            "sid": session.node.sid,
            "ver": session.node.ver,
            "key": key,
            "dtype": vectors[key].dtype.str,
            "vector": vectors[key].tobytes(),
        }
        for key in vectors.fresh
    ]
    if rows:
        _vectors().insert_many(rows, session=transaction)
    vectors.fresh.clear()


def _drop_snapshots(session: StoredSession, transaction: Any) -> None:
    """Delete the snapshots that have become too old to be explained."""
    for hook, snapshot in session.outdated():
        anchor = snapshot.__jac__
        for edge in anchor.edges:
            reference = {"$pull": {"edges": edge.ref_id}}
            NodeAnchor.Collection.collection().update_one({"_id": hook.__jac__.id}, reference, session=transaction)
            EdgeAnchor.Collection.collection().delete_one({"_id": edge.id}, session=transaction)
        NodeAnchor.Collection.collection().delete_one({"_id": anchor.id}, session=transaction)
