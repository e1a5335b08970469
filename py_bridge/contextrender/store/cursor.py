"""The cursor that `find` gives."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Self

from contextrender.store.keys import MISSING, encode
from contextrender.store.paths import Document, values_at
from contextrender.store.projection import Projection

SortKeys = str | Sequence[str | tuple[str, int]] | Mapping[str, int] | None


class Cursor:
    """The found documents, once. What it gives doesn't change when the collection does after the first one."""

    def __init__(
        self, read: Callable[[], Iterator[Document]], keep: Projection, skip: int, limit: int, sort: SortKeys
    ) -> None:
        self._read, self._keep = read, keep
        self._skip, self._limit, self._sort = skip, limit, sort
        self._documents: Iterator[Document] | None = None

    def skip(self, count: int) -> Self:
        """Leave out the first `count`."""
        self._skip = count
        return self

    def limit(self, count: int) -> Self:
        """At most `count`; 0 means all."""
        self._limit = count
        return self

    def sort(self, keys: SortKeys, direction: int = 1) -> Self:
        """In the order of a field, or of several given as (field, direction) pairs."""
        self._sort = [(keys, direction)] if isinstance(keys, str) else keys
        return self

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Document:
        if self._documents is None:
            documents = self._read()
            if self._sort:
                documents = iter(sort_documents(documents, self._sort, lambda document: document))
            stop = self._skip + abs(self._limit) if self._limit else None
            self._documents = map(self._keep, islice(documents, self._skip, stop))
        return next(self._documents)

    next = __next__

    def to_list(self) -> list[Document]:
        """The documents that are left."""
        return list(self)

    def close(self) -> None:
        """Give back nothing more."""
        self._documents = iter(())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def sort_documents[T](items: Iterable[T], keys: SortKeys, document: Callable[[T], Document]) -> list[T]:
    """The items in the order of their documents' fields; equal ones keep their order."""
    ordered = list(items)
    for field, direction in reversed(_pairs(keys)):
        path, backwards = tuple(field.split(".")), direction < 0

        def place(item: T, path: tuple[str, ...] = path, backwards: bool = backwards) -> bytes:
            found: list[Any] = []
            for value in values_at(document(item), path) or [MISSING]:
                found += value if isinstance(value, list) else [value]
            return (max if backwards else min)(map(encode, found), default=b"")

        ordered.sort(key=place, reverse=backwards)
    return ordered


def _pairs(keys: SortKeys) -> list[tuple[str, int]]:
    if keys is None:
        return []
    if isinstance(keys, str):
        return [(keys, 1)]
    if isinstance(keys, Mapping):
        return list(keys.items())
    return [(key, 1) if isinstance(key, str) else key for key in keys]
