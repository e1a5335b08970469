"""Finding documents of one collection over one connection."""

from collections.abc import Iterable, Iterator

import bson

from contextrender.store.cursor import SortKeys, sort_documents
from contextrender.store.paths import Document
from contextrender.store.query import Test, filter_test, plan
from contextrender.store.sqlite import Link

Name = tuple[str, str]  # database and collection
Row = tuple[int, bytes, int]  # seq, doc, and whether it surely matches
Found = tuple[int, Document, bytes]  # seq, the document, and its bytes in the file


def candidates(link: Link, name: Name, query: Document) -> Iterator[Row]:
    """The rows that may match, in the order of insertion; to be read to the end before the connection is used on."""
    table = link.catalog.find(*name)
    if table is None:
        return iter(())
    chosen = plan(query, table.name, table.indexes)
    where = f" WHERE {chosen.where}" if chosen.where else ""
    return link.db.execute(f"SELECT seq, doc, {chosen.sure} FROM {table.name}{where} ORDER BY seq", chosen.parameters)


def matching(rows: Iterable[Row], matches: Test) -> Iterator[Found]:
    """The candidates that do match, decoded."""
    decode = bson.decode
    for seq, doc, sure in rows:
        document = decode(doc)
        if sure or matches(document):
            yield seq, document, doc


def find_all(link: Link, name: Name, query: Document) -> list[Found]:
    """Every match."""
    return list(matching(candidates(link, name, query), filter_test(query)))


def find_first(link: Link, name: Name, query: Document, sort: SortKeys = None) -> Found | None:
    """The first match, in the order of `sort` if there is one."""
    if sort:
        return next(iter(sort_documents(find_all(link, name, query), sort, lambda item: item[1])), None)
    return next(matching(candidates(link, name, query), filter_test(query)), None)


def count(link: Link, name: Name, query: Document) -> int:
    """How many match; documents that an index is sure of aren't decoded."""
    matches = filter_test(query)
    if not query and (table := link.catalog.find(*name)):
        return int(link.db.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0])
    return sum(1 for _, doc, sure in candidates(link, name, query) if sure or matches(bson.decode(doc)))
