"""jac-cloud's persistence as the server uses it: who acts, new anchors into the collections, documents into archetypes.

jac-cloud would hash everything that a request has touched at its end; here only what is new is written, and nothing of
a resident graph is left in its memory.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from functools import cache
from typing import Any

from bson import ObjectId
from jac_cloud.core.archetype import AnchorState, EdgeAnchor, NodeAnchor, NodeArchetype, Permission
from jac_cloud.core.context import JASECI_CONTEXT, JaseciContext
from pymongo import InsertOne, UpdateOne

from contextrender.errors import NotFoundError

ESCAPED = "\x00json:"
"""What begins a text that BSON can't hold (it has a lone surrogate), written as a JSON string."""

Changes = Mapping[ObjectId, Mapping[str, Any]]


@contextmanager
def acting(owner: str) -> Iterator[Any]:
    """jac-cloud's context as this owner, by the id of their root; nothing of ours is left in it.

    Raises NotFoundError where there is no such root. Must not be entered inside a transaction.
    """
    context = JASECI_CONTEXT.get(None)
    if context is None or str(context.root_state.id) != owner:
        JASECI_CONTEXT.set(None)
        context = JaseciContext.create(None)
        root = NodeAnchor.Collection.find_by_id(owner) if ObjectId.is_valid(owner) else None
        if root is None:
            JASECI_CONTEXT.set(None)
            raise NotFoundError("no such owner")
        context.root_state = context.entry_node = root
    keep = set(context.mem.__mem__)
    try:
        yield context
    finally:
        for name in [name for name in context.mem.__mem__ if name not in keep]:
            del context.mem.__mem__[name]


def write_new(context: Any, transaction: Any, changes: Changes) -> None:
    """Insert the new nodes and edges of the context, link old nodes to new edges, and set the fields in `changes`."""
    new = [anchor for anchor in context.mem.__mem__.values() if not anchor.state.connected and anchor.persistent]
    links: dict[ObjectId, list[str]] = {}
    writes: dict[type, list[Any]] = {NodeAnchor: [], EdgeAnchor: []}
    fresh = {anchor.id for anchor in new}
    for anchor in new:
        anchor.state.connected = True
        anchor.state.changes = {}
        writes[type(anchor)].append(InsertOne(_document(anchor)))
        if isinstance(anchor, EdgeAnchor):
            for end in (anchor.source, anchor.target):
                end.state.changes = {}
                if end.id not in fresh:
                    links.setdefault(end.id, []).append(anchor.ref_id)
    for oid in {*links, *(oid for oid in changes if oid not in fresh)}:
        update: dict[str, Any] = {}
        if oid in links:
            update["$addToSet"] = {"edges": {"$each": links[oid]}}
        if oid in changes:
            update["$set"] = dict(changes[oid])
        writes[NodeAnchor].append(UpdateOne({"_id": oid}, update))
    for kind, requests in writes.items():
        if requests:
            kind.Collection.collection().bulk_write(requests, session=transaction)  # type: ignore[attr-defined]


def _document(anchor: Any) -> dict[str, Any]:
    document: dict[str, Any] = anchor.serialize()
    fields = document["archetype"]
    for name, value in fields.items():
        if isinstance(value, str) and (not _encodes(value) or value.startswith(ESCAPED)):
            fields[name] = ESCAPED + json.dumps(value)
    return document


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def plain_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Stored fields as they were before they were escaped."""
    for name, value in fields.items():
        if isinstance(value, str) and value.startswith(ESCAPED):
            fields[name] = json.loads(value.removeprefix(ESCAPED))
    return fields


def nodes_of(documents: Iterable[dict[str, Any]]) -> Iterator[Any]:
    """The node archetypes of documents, which are used up.

    jac-cloud's own reading also checks each field's type and hashes each document, to find what a request has changed:
    half of the time, for what `write_new` knows already.
    """
    for document in documents:
        kind = NodeArchetype.__get_class__(document["name"])
        archetype = object.__new__(kind)
        archetype.__dict__.update(_defaults(kind))
        archetype.__dict__.update(plain_fields(document.pop("archetype")))
        archetype.__jac__ = NodeAnchor(
            archetype=archetype,
            id=document.pop("_id"),
            edges=[EdgeAnchor.ref(edge) for edge in document.pop("edges")],
            access=Permission.deserialize(document.pop("access")),
            state=AnchorState(connected=True),
            persistent=True,
            **document,
        )
        yield archetype


@cache
def _defaults(kind: type) -> dict[str, Any]:
    """What a node stored before a field was there has in it."""
    return {field.name: field.default for field in fields(kind) if field.default is not MISSING}


def object_id(text: str) -> ObjectId:
    """The id that this text is. Raises NotFoundError for any other text."""
    if not isinstance(text, str) or not ObjectId.is_valid(text):
        raise NotFoundError(f"no session {str(text)[:64]!r}")
    return ObjectId(text)


def ids_of(references: Sequence[str]) -> list[ObjectId]:
    """The ids in jac-cloud's references, such as n:Message:65f0…."""
    return [ObjectId(reference.rsplit(":", 1)[1]) for reference in references]
