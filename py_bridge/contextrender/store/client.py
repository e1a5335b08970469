"""The client, database and session that take the place of PyMongo's.

A session's transaction begins with its first operation, reads included, and is then the file's only writer until it
ends. Any error inside undoes the whole transaction, as in MongoDB; only a lock that wasn't free in time leaves it to be
tried again in the same session, with the label `TransientTransactionError`.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import Enum
from types import TracebackType
from typing import Any, Self

from pymongo.errors import InvalidOperation, OperationFailure

from contextrender.store.collection import Collection
from contextrender.store.errors import NO_SUCH_TRANSACTION, TRANSIENT
from contextrender.store.sqlite import Link, StoreFile


class Client:
    """PyMongo's MongoClient over a store file."""

    def __init__(self, file: StoreFile) -> None:
        self._file = file
        self._databases: dict[str, Database] = {}

    def get_database(self, name: str = "jaseci", *_: Any, **__: Any) -> "Database":
        """The database of this name; it exists once something is written to it."""
        found = self._databases.get(name)
        return found if found is not None else self._databases.setdefault(name, Database(self, name))

    __getitem__ = get_database

    def list_database_names(self) -> list[str]:
        """The databases that something was written to."""
        return sorted({database for database, _ in self._collections()})

    def start_session(self, *_: Any, **__: Any) -> "ClientSession":
        """A session, for transactions."""
        return ClientSession(self._file)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _collections(self) -> list[tuple[str, str]]:
        with self.reading(None) as link:
            return link.catalog.names()

    def reading(self, session: "ClientSession | None") -> AbstractContextManager[Link]:
        """A connection to read with: inside the session's transaction, or what is committed."""
        return session.joined() if session is not None and session.in_transaction else self._file.committed

    def writing(self, session: "ClientSession | None") -> AbstractContextManager[Link]:
        """A connection to write with: inside the session's transaction, or one of its own that commits at the end."""
        return session.joined() if session is not None and session.in_transaction else self._file.writing()


class Database:
    """PyMongo's Database."""

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name
        self._collections: dict[str, Collection] = {}

    def get_collection(self, name: str, *_: Any, **__: Any) -> Collection:
        """The collection of this name; it exists once something is written to it."""
        found = self._collections.get(name)
        return found if found is not None else self._collections.setdefault(name, Collection(self, name))

    __getitem__ = get_collection

    def list_collection_names(self) -> list[str]:
        """The collections that something was written to."""
        return [name for database, name in self.client._collections() if database == self.name]


class _State(Enum):
    NONE = "no transaction"
    STARTED = "started"
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNDONE = "undone after an error"


class ClientSession:
    """PyMongo's ClientSession; also the context manager that `start_transaction` gives."""

    def __init__(self, file: StoreFile) -> None:
        self._file = file
        self._state = _State.NONE
        self._link: Link | None = None
        self.has_ended = False

    @property
    def in_transaction(self) -> bool:
        """Whether operations with this session belong to a transaction (one that an error undid included)."""
        return self._state in (_State.STARTED, _State.UNDONE)

    def start_transaction(self, *_: Any, **__: Any) -> "Transaction":
        """Begin a transaction. Raises InvalidOperation when one is in progress or the session has ended."""
        if self.has_ended:
            raise InvalidOperation("Cannot use ended session")
        if self.in_transaction:
            raise InvalidOperation("Transaction already in progress")
        self._state = _State.STARTED
        return Transaction(self)

    @contextmanager
    def joined(self) -> Iterator[Link]:
        """The transaction's connection, for one operation; an error inside undoes the transaction."""
        if self._state is _State.UNDONE:
            raise self._gone()
        with self._file.translated:
            if self._link is None:
                link = self._file.link()
                if link.in_transaction:
                    raise InvalidOperation("this thread has another transaction open; end it first")
                self._file.begin(link, TRANSIENT)
                self._link = link
            try:
                yield self._link
            except BaseException:
                self._undo(_State.UNDONE)
                raise

    def commit_transaction(self) -> None:
        """Make the transaction durable. Raises InvalidOperation when there is none, OperationFailure when an error
        has undone it, StoreError when it can't be written."""
        if self._state is _State.COMMITTED:
            return
        if self._state is _State.UNDONE:
            self._state = _State.ABORTED
            raise self._gone()
        if self._state is not _State.STARTED:
            raise InvalidOperation(f"Cannot commit: {self._state.value}")
        link, self._link = self._link, None
        self._state = _State.ABORTED  # unless what follows succeeds
        if link is not None:
            with self._file.translated:
                self._file.commit(link)
        self._state = _State.COMMITTED

    def abort_transaction(self) -> None:
        """Undo the transaction. Raises InvalidOperation when there is none."""
        if not self.in_transaction:
            raise InvalidOperation(f"Cannot abort: {self._state.value}")
        self._undo(_State.ABORTED)

    def end_session(self) -> None:
        """Undo a transaction in progress and end the session."""
        self._undo(_State.ABORTED)
        self.has_ended = True

    def _undo(self, state: _State) -> None:
        link, self._link = self._link, None
        self._state = state
        if link is not None:
            self._file.rollback(link)

    @staticmethod
    def _gone() -> OperationFailure:
        return OperationFailure(
            "the transaction was undone by an earlier error; start a new one",
            NO_SUCH_TRANSACTION,
            {"errorLabels": [TRANSIENT]},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end_session()

    def __del__(self) -> None:
        self._undo(_State.ABORTED)  # a forgotten session must not keep the writer's place


class Transaction:
    """Commits its session's transaction at the end of a `with` block, or aborts it after an exception."""

    def __init__(self, session: ClientSession) -> None:
        self._session = session

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session.in_transaction:
            if kind is None:
                self._session.commit_transaction()
            else:
                self._session.abort_transaction()
