"""Projections: which fields of a found document are given back."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pymongo.errors import OperationFailure

from contextrender.store.errors import unsupported
from contextrender.store.paths import Document

Projection = Callable[[Document], Document]
_Tree = dict[str, Any]


def projection(fields: Mapping[str, Any] | Iterable[str] | None) -> Projection:
    """The function that keeps (or leaves out) the named fields. Raises OperationFailure for a mixed or other kind."""
    if not fields:
        return lambda document: document
    wanted = dict(fields) if isinstance(fields, Mapping) else dict.fromkeys(fields, True)
    for name, flag in wanted.items():
        if not isinstance(flag, bool | int | float) or any(part.startswith("$") for part in name.split(".")):
            raise unsupported(f"the projection {{{name!r}: {flag!r}}}")
    kinds = {bool(flag) for name, flag in wanted.items() if name != "_id"}
    if len(kinds) == 2:
        raise OperationFailure("a projection either includes or excludes fields", 31254)
    keep = kinds == {True} or (not kinds and bool(wanted["_id"]))
    names = [name for name in wanted if name != "_id"]
    if keep == bool(wanted.get("_id", True)):
        names.append("_id")
    tree: _Tree = {}
    for name in names:
        branch = tree
        for part in name.split("."):
            branch = branch.setdefault(part, {})
    return lambda document: _kept(document, tree) if keep else _without(document, tree)


def _kept(value: Any, tree: _Tree) -> Any:
    if not tree:
        return value
    if isinstance(value, list):
        return [_kept(item, tree) for item in value if isinstance(item, dict | list)]
    return {
        name: _kept(item, tree[name])
        for name, item in value.items()
        if name in tree and (not tree[name] or isinstance(item, dict | list))
    }


def _without(value: Any, tree: _Tree) -> Any:
    if isinstance(value, list):
        return [_without(item, tree) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _without(item, tree[name]) if tree.get(name) else item
        for name, item in value.items()
        if name not in tree or tree[name]
    }
