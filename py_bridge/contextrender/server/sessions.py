"""Stored sessions of many owners: the one object behind the walkers, the proxy and whatever else serves them.

    sessions = start(folder).sessions()                     # contextrender.server.platform
    sid = sessions.open_session(owner, key="my-run")
    rendered = sessions.sync(owner, sid, messages).rendered

`owner` is the id of the owner's root in jac-cloud (hex). Every method checks that the session is the owner's, and
raises NotFoundError otherwise, InputError for bad input, StoreError for a store that can't be used; nothing is
acknowledged that isn't on disk. Methods block: call them from a worker thread.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any

from bson import ObjectId
from jac_cloud.core.archetype import EdgeAnchor, NodeAnchor
from jac_cloud.jaseci.datasources import Collection
from pymongo.errors import DuplicateKeyError, PyMongoError

from contextrender.errors import InputError, NotFoundError
from contextrender.graph.archetypes import Holds, Shelf
from contextrender.graph.archetypes import Session as SessionNode
from contextrender.jac_runtime import Jac
from contextrender.ledger import Call
from contextrender.server import metrics
from contextrender.server.graph import acting, ids_of, nodes_of, object_id, write_new
from contextrender.server.platform import running
from contextrender.server.records import options_record, policy_of
from contextrender.server.residents import TRIES, Residents, delete_vectors, find_session
from contextrender.server.stored import KEEP, StoredSession, Synced
from contextrender.store.errors import StoreLockedError
from contextrender.trace import Explained, Message, Rendered
from contextrender.transcripts.format import Usage
from contextrender.transcripts.identity import Begun
from contextrender.transcripts.wire import wire_format

SHELF = 100
"""Sessions on one shelf."""
CALLS, LEASES = "contextrender_call", "contextrender_lease"
PAGE = 500
"""The most of anything in one answer."""
KEY_CHARS = 512
DAYS = 36_500
_DAY = 86_400


class Sessions:
    """See the module. memory: bytes of sessions that are kept ready; keep: renders that stay explainable.

    policy, budget, embedder, days: of sessions that are opened without their own; days: after so many without a write a
    session may be deleted, None keeps it.
    """

    def __init__(
        self,
        memory: int = 256 << 20,
        keep: int = KEEP,
        policy: str = "default",
        budget: int = 6000,
        embedder: str | None = None,
        days: int | None = None,
    ) -> None:
        self.residents = Residents(memory, keep)
        self._policy, self._budget, self._embedder, self._days = policy, budget, embedder, days

    # --- sessions ----------------------------------------------------------------------------------------------------

    def open_session(
        self,
        owner: str,
        policy: str | Mapping[str, Any] | None = None,
        budget: int | str | None = None,
        embedder: str | None = None,
        model: str | None = None,
        key: str = "",
        wire: str = "chat",
        days: int | None = None,
    ) -> str:
        """Make a session; returns its id. With a key (any text) the owner's session of that key, where there is one."""
        options = self._checked_options(policy, budget, embedder, model, wire, days)
        if not isinstance(key, str) or len(key) > KEY_CHARS:
            raise InputError("the key is no text, or too long", "key", f"up to {KEY_CHARS} characters")
        sid = session_id(owner, key) if key else str(ObjectId())
        for attempt in range(TRIES):
            with acting(owner) as context:
                if key and _exists(owner, sid):
                    return sid
                try:
                    with Collection.get_session() as transaction, transaction.start_transaction():
                        now = time.time()
                        node = SessionNode(sid=sid, ver=1, key=key, options=options, opened=now, updated=now)
                        node.__jac__.id = object_id(sid)
                        shelf = _shelf(owner, transaction)
                        Jac.connect(shelf, node, edge=Holds(sid=owner, ver=shelf.number * SHELF + shelf.held))
                        shelf.held += 1
                        write_new(context, transaction, {shelf.__jac__.id: {"archetype.held": shelf.held}})
                        _renew_lease(owner, sid, options, transaction)
                    return sid
                except PyMongoError as error:
                    self.residents.again(error, attempt, isinstance(error, DuplicateKeyError))
        raise AssertionError("unreachable")

    def _checked_options(
        self,
        policy: str | Mapping[str, Any] | None,
        budget: int | str | None,
        embedder: str | None,
        model: str | None,
        wire: str,
        days: int | None,
    ) -> str:
        budget = self._budget if budget is None else budget
        if budget != "auto" and (isinstance(budget, bool) or not isinstance(budget, int) or not 1 <= budget < 2**53):
            raise InputError(f"the budget is {budget!r}", "budget", 'a whole number of tokens from 1 on, or "auto"')
        days = self._days if days is None else days
        if days is not None and (isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= DAYS):
            raise InputError(f"days is {days!r}", "days", f"1 to {DAYS}, or null")
        embedder = embedder or self._embedder
        if embedder not in (None, "hash", "wordllama"):
            raise InputError(f"unknown embedder {embedder!r}", "embedder", "hash, wordllama")
        policy = self._policy if policy is None else policy
        named = policy if isinstance(policy, str) else policy_of(dict(policy))
        policy_of(policy)
        wire_format(wire)
        return options_record(named, budget, embedder, model, wire, days)

    def sessions(self, owner: str, after: int = -1, limit: int = 100) -> dict[str, Any]:
        """A page of the owner's sessions in the order they were opened: {sessions: [...], next: int | None}."""
        limit = checked_page(limit)
        query = {"archetype.sid": owner, "archetype.ver": {"$gt": after}}
        found = list(EdgeAnchor.Collection.collection().find(query).sort("archetype.ver", 1).limit(limit + 1))
        ids = ids_of([edge["target"] for edge in found[:limit]])
        nodes = NodeAnchor.Collection.collection().find({"_id": {"$in": ids}, "root": ObjectId(owner)})
        known = {node.__jac__.id: node for node in nodes_of(nodes)}
        rows = [_row(known[oid]) for oid in ids if oid in known]
        return {"sessions": rows, "next": found[limit - 1]["archetype"]["ver"] if len(found) > limit else None}

    def delete_session(self, owner: str, sid: str) -> None:
        """Delete the session with everything that was derived from it."""
        self._delete_stored(owner, sid)
        _forget_the_log()

    def _delete_stored(self, owner: str, sid: str) -> None:
        oid = object_id(sid)
        for attempt in range(TRIES):
            try:
                with Collection.get_session() as transaction, transaction.start_transaction():
                    _delete(owner, oid, transaction)
                self.residents.forget(sid)
                return
            except PyMongoError as error:
                self.residents.again(error, attempt)

    def expire(self) -> int:
        """Delete the sessions whose time is over, of all owners; returns how many."""
        gone = list(_collection(LEASES).find({"until": {"$lt": time.time()}}).limit(PAGE))
        for lease in gone:
            try:
                self._delete_stored(lease["owner"], lease["_id"])
            except NotFoundError:
                _collection(LEASES).delete_one({"_id": lease["_id"]})
        if gone:
            _forget_the_log()
        return len(gone)

    # --- the calls of Session ----------------------------------------------------------------------------------------

    def ingest(
        self, owner: str, sid: str, messages: Sequence[Mapping[str, Any]], whole: bool | None = None
    ) -> list[Message]:
        """As `Session.ingest`."""
        return self._written(owner, sid, lambda session: session.ingest(messages, whole))

    def render(self, owner: str, sid: str, budget: int | None = None) -> Rendered:
        """As `Session.render`."""
        return self._rendered(owner, sid, lambda session: None, budget).rendered

    def sync(
        self,
        owner: str,
        sid: str,
        messages: Sequence[Mapping[str, Any]],
        known: Begun | None = None,
        budget: int | None = None,
    ) -> Synced:
        """Take what is new of the conversation and render it, in one transaction; the head ends where it ends.

        known: what an earlier answer said of the conversation; `messages` are then only what follows. Raises
        DivergedError when no branch begins like that: then send the whole list.
        """

        def take(session: StoredSession) -> None:
            if known is None:
                session.ingest(messages, True)
            else:
                session.follow(Begun(*known), messages)

        return self._rendered(owner, sid, take, budget)

    def extend(self, owner: str, sid: str, messages: Sequence[Mapping[str, Any]], known: Begun) -> Begun:
        """Have `messages` behind `known`, without a render; a branch that goes on like this is left as it is.

        Raises DivergedError when no branch begins so.
        """
        return self._written(owner, sid, lambda session: session.follow(known, messages, ends=False))

    def note(self, owner: str, sid: str, kind: str, text: str, **fields: Any) -> None:
        """As `Session.note`."""
        self._written(owner, sid, lambda session: session.note(kind, text, **fields))

    def explain(self, owner: str, sid: str, snapshot_id: str) -> Explained:
        """As `Session.explain`."""
        with self.residents.reading(owner, sid) as session:
            row = _collection(CALLS).find_one({"_id": f"{sid}:{snapshot_id}"})
            if row and row["usage"]:
                session.record_usage(snapshot_id, Usage(*row["usage"]), row["prefill_seconds"])
            return session.explain(snapshot_id)

    def recall(self, owner: str, sid: str, ref: str) -> Message:
        """As `Session.recall`."""
        with self.residents.reading(owner, sid) as session:
            return session.recall(ref)

    def record_usage(
        self, owner: str, sid: str, snapshot_id: str, model: str, usage: Usage, prefill_seconds: float | None = None
    ) -> None:
        """As `Session.record_usage`; kept for the ledger also when the render can't be explained any more."""
        find_session(owner, sid)
        counted = [usage.uncached, usage.cached, usage.written, usage.output]
        told = {"$set": {"model": model, "usage": counted, "prefill_seconds": prefill_seconds}}
        if not _collection(CALLS).update_one({"_id": f"{sid}:{snapshot_id}"}, told).matched_count:
            raise NotFoundError(f"no snapshot {snapshot_id[:64]!r} in this session")
        for kind, tokens in zip(("uncached", "cached", "written", "output"), counted, strict=True):
            metrics.PROVIDER.labels(kind).inc(tokens)

    def calls(self, owner: str, sid: str) -> list[Call]:
        """The model calls that were rendered for, in order."""
        find_session(owner, sid)
        rows = _collection(CALLS).find({"sid": sid}).sort("number", 1)
        return [
            Call(row["full"], row["sent"], row["model"], Usage(*row["usage"]) if row["usage"] else None) for row in rows
        ]

    def _written[T](
        self,
        owner: str,
        sid: str,
        work: Callable[[StoredSession], T],
        also: Callable[[T, Any], None] | None = None,
    ) -> T:
        def renewing(session: StoredSession) -> tuple[T, str]:
            return work(session), session.node.options

        def and_more(done: tuple[T, str], transaction: Any) -> None:
            _renew_lease(owner, sid, done[1], transaction)
            if also is not None:
                also(done[0], transaction)

        return self.residents.writing(owner, sid, renewing, and_more)[0]

    def _rendered(self, owner: str, sid: str, take: Callable[[StoredSession], Any], budget: int | None) -> Synced:
        def work(session: StoredSession) -> Synced:
            take(session)
            rendered = session.render(budget)
            return Synced(rendered, session.begun(), session.history.budgeted_tokens())

        def count(synced: Synced, transaction: Any) -> None:
            name = synced.rendered.snapshot_id
            row = {"_id": f"{sid}:{name}", "sid": sid, "number": int(name[1:]), "model": "", "usage": None}
            row |= {"full": synced.full_tokens, "sent": synced.rendered.tokens, "prefill_seconds": None}
            _collection(CALLS).insert_one(row, session=transaction)

        synced = self._written(owner, sid, work, count)
        metrics.RENDERS.inc()
        metrics.HISTORY.labels("full").inc(synced.full_tokens)
        metrics.HISTORY.labels("sent").inc(synced.rendered.tokens)
        return synced


def session_id(owner: str, key: str) -> str:
    """The id of the owner's session with this key: the same wherever it is asked for."""
    return blake2b(f"{owner}\0{key}".encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def checked_page(limit: int) -> int:
    """`limit` if it is a size of a page. Raises InputError."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= PAGE:
        raise InputError(f"limit is {limit!r}", "limit", f"1 to {PAGE}")
    return limit


def _forget_the_log() -> None:
    """What is deleted must not stay readable in the write-ahead log; while others use it, it is written over later."""
    store = running().store
    if store is not None:
        with suppress(StoreLockedError):
            store.checkpoint()


def _collection(name: str) -> Any:
    return Collection.get_collection(name)


def _exists(owner: str, sid: str) -> bool:
    try:
        find_session(owner, sid)
    except NotFoundError:
        return False
    return True


def _row(node: Any) -> dict[str, Any]:
    told = {"key": node.key, "opened": node.opened, "updated": node.updated, "renders": node.renders}
    return {"session": node.sid, **told, **json.loads(node.options)}


def _renew_lease(owner: str, sid: str, options: str, transaction: Any) -> None:
    days = json.loads(options)["days"]
    if days is not None:
        until = {"$set": {"owner": owner, "until": time.time() + days * _DAY}}
        _collection(LEASES).update_one({"_id": sid}, until, upsert=True, session=transaction)


def _shelf(owner: str, transaction: Any) -> Any:
    """The owner's shelf with room; made, and linked behind the fuller ones, where there is none."""
    nodes = NodeAnchor.Collection
    query = {"archetype.sid": f"shelf:{owner}"}
    found = nodes.collection().find(query, session=transaction).sort("archetype.ver", -1).limit(1)
    last = next(nodes_of(found), None)
    if last is not None and last.held < SHELF:
        return last
    number = last.number + 1 if last is not None else 0
    before = last if last is not None else nodes.find_by_id(owner, session=transaction).archetype
    made = Shelf(number=number, sid=f"shelf:{owner}", ver=number)
    Jac.connect(before, made, edge=Holds(sid=f"shelf:{owner}", ver=number))
    return made


def _delete(owner: str, oid: ObjectId, transaction: Any) -> None:
    nodes, edges, sid = NodeAnchor.Collection.collection(), EdgeAnchor.Collection.collection(), str(oid)
    gone = nodes.find_one({"_id": oid, "root": ObjectId(owner), "name": "Session"}, session=transaction)
    if gone is None:
        raise NotFoundError(f"no session {sid!r}")
    for edge in edges.find({"_id": {"$in": ids_of(gone["edges"])}, "name": "Holds"}, session=transaction):
        shelf, reference = ids_of([edge["source"]])[0], f"e:Holds:{edge['_id']}"
        nodes.update_one({"_id": shelf}, {"$pull": {"edges": reference}}, session=transaction)
        edges.delete_one({"_id": edge["_id"]}, session=transaction)
    edges.delete_many({"archetype.sid": sid}, session=transaction)
    nodes.delete_many({"archetype.sid": sid}, session=transaction)
    delete_vectors(sid, transaction)
    _collection(CALLS).delete_many({"sid": sid}, session=transaction)
    _collection(LEASES).delete_one({"_id": sid}, session=transaction)
