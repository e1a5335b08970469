"""A stored session as a file, and its graph in pages."""

import json
from collections.abc import Mapping
from typing import Any

from jac_cloud.core.archetype import EdgeAnchor, NodeAnchor

from contextrender.errors import InputError
from contextrender.server.graph import ids_of, object_id, plain_fields
from contextrender.server.records import policy_of
from contextrender.server.residents import find_session
from contextrender.server.sessions import Sessions, checked_page

FORMAT = 1
_OPTIONS = ("policy", "budget", "embedder", "model", "wire", "days")


def export_session(sessions: Sessions, owner: str, sid: str) -> str:
    """The session as JSON lines: how it was opened, then each branch's messages and told facts, the head last."""
    with sessions.residents.reading(owner, sid) as session:
        lines: list[dict[str, Any]] = [{"contextrender": FORMAT, **json.loads(session.node.options)}]
        head = session.history
        for branch in [*(other for other in session.branches if other is not head), head]:
            session.history = branch
            try:
                messages = session.plan(policy_of("full"), 1).messages()
            finally:
                session.history = head
            told = [{"kind": fact.kind, "text": fact.text, **fact.fields} for fact in branch.facts]
            lines.append({"messages": messages, **({"facts": told} if told else {})})
    return "".join(json.dumps(line) + "\n" for line in lines)


def import_session(sessions: Sessions, owner: str, text: str, key: str = "") -> str:
    """A new session from what `export_session` gave; returns its id. Raises InputError, and then nothing is left."""
    try:
        first, *rest = [json.loads(line) for line in text.splitlines() if line.strip()]
        options = {name: first[name] for name in _OPTIONS}
        branches = [(line["messages"], line.get("facts", [])) for line in rest]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError("not an exported session", "text", "the JSON lines that export gave") from error
    if first.get("contextrender") != FORMAT:
        raise InputError(f"format {first.get('contextrender')!r}", "text", f"format {FORMAT}")
    sid = sessions.open_session(owner, key=key, **options)
    try:
        for messages, facts in branches:
            sessions.ingest(owner, sid, messages, True)
            for fact in facts:
                sessions.note(owner, sid, **_checked_fact(fact))
    except BaseException:
        sessions.delete_session(owner, sid)
        raise
    return sid


def _checked_fact(fact: Any) -> dict[str, Any]:
    if not isinstance(fact, Mapping) or not {"kind", "text"} <= set(fact):
        raise InputError("a fact without kind and text", "facts", "objects with kind and text")
    return dict(fact)


def graph_page(owner: str, sid: str, after: str = "", limit: int = 100) -> dict[str, Any]:
    """A page of the session's nodes with the edges that leave them: {nodes, edges, next}; `after`: a `next`."""
    limit = checked_page(limit)
    find_session(owner, sid)
    query: dict[str, Any] = {"archetype.sid": sid}
    if after:
        query["_id"] = {"$gt": object_id(after)}
    found = list(NodeAnchor.Collection.collection().find(query).sort("_id", 1).limit(limit + 1))
    page = found[:limit]
    mine = {node["_id"] for node in page}
    references = [reference for node in page for reference in node["edges"]]
    edges = EdgeAnchor.Collection.collection().find({"_id": {"$in": ids_of(references)}})
    return {
        "nodes": [{"id": str(node["_id"]), "kind": node["name"], **plain_fields(node["archetype"])} for node in page],
        "edges": [
            {
                "id": str(edge["_id"]),
                "kind": edge["name"],
                "source": edge["source"].rsplit(":", 1)[1],
                "target": edge["target"].rsplit(":", 1)[1],
            }
            for edge in edges
            if ids_of([edge["source"]])[0] in mine
        ],
        "next": str(page[-1]["_id"]) if len(found) > limit else None,
    }
