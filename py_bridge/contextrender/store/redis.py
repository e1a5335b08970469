"""The part of Redis that jac-cloud uses (tokens, codes, schedules), kept in the store's file, with expiry.

Keys and values are bytes, as redis-py gives them; what was set survives a restart. A write by a thread that has a
document transaction open becomes part of that transaction, because the file has one writer.
"""

import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from redis.exceptions import DataError, ResponseError

from contextrender.store.sqlite import StoreFile

_WHOLE = b""  # the field of a string's only item
_MIDDLE = 1 << 62  # list positions count from here in both directions

_LIVE = "(expires IS NULL OR expires > ?)"


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DataError(f"a {type(value).__name__} can't be stored: convert it to bytes, str, int or float")
    return (repr(value) if isinstance(value, float) else str(value)).encode()


class Redis:
    """The Redis-shaped client. Raises redis-py's ResponseError (a key of another kind) and DataError (a bad value),
    and StoreError when the file fails."""

    def __init__(self, file: StoreFile) -> None:
        self._file = file

    # --- keys ----------------------------------------------------------------------------------------------------

    def keys(self, pattern: Any = "*") -> list[bytes]:
        """The keys that match a glob pattern."""
        matches = _glob(_bytes(pattern))
        with self._reading() as db:
            found = db.execute(f"SELECT key FROM redis_key WHERE {_LIVE}", (time.time(),)).fetchall()
        return [key for (key,) in found if matches(key)]

    def exists(self, *names: Any) -> int:
        """How many of the keys exist."""
        with self._reading() as db:
            return sum(self._kind(db, _bytes(name)) is not None for name in names)

    def delete(self, *names: Any) -> int:
        """Delete keys; gives how many there were."""
        with self._writing() as db:
            return sum(self._drop(db, _bytes(name)) for name in names)

    def expire(self, name: Any, seconds: float) -> bool:
        """Let the key end after so many seconds; False when it isn't there."""
        with self._writing() as db:
            return self._expire_key(db, _bytes(name), time.time() + seconds)

    def persist(self, name: Any) -> bool:
        """Take the key's end away; False when it has none."""
        with self._writing() as db:
            found = db.execute("SELECT expires FROM redis_key WHERE key = ?", (_bytes(name),)).fetchone()
            return bool(found and found[0] is not None and self._expire_key(db, _bytes(name), None))

    def ttl(self, name: Any) -> int:
        """Seconds that the key has left: -1 without an end, -2 when it isn't there."""
        with self._reading() as db:
            key, now = _bytes(name), time.time()
            found = db.execute(f"SELECT expires FROM redis_key WHERE key = ? AND {_LIVE}", (key, now)).fetchone()
        if found is None:
            return -2
        return -1 if found[0] is None else round(found[0] - now)

    # --- strings -------------------------------------------------------------------------------------------------

    def get(self, name: Any) -> bytes | None:
        """The string's value."""
        return self._item(_bytes(name), "string", _WHOLE)

    def set(
        self, name: Any, value: Any, ex: float | None = None, px: int | None = None, nx: bool = False, xx: bool = False
    ) -> bool | None:
        """Set a string, to end after `ex` seconds or `px` milliseconds; None when `nx` or `xx` forbids it."""
        key, data = _bytes(name), _bytes(value)
        seconds = ex if ex is not None else None if px is None else px / 1000
        if seconds is not None and seconds <= 0:
            raise ResponseError("invalid expire time in 'set' command")
        with self._writing() as db:
            there = self._kind(db, key) is not None
            if (nx and there) or (xx and not there):
                return None
            self._drop(db, key)
            self._put(db, key, "string", _WHOLE, data)
            if seconds is not None:
                self._expire_key(db, key, time.time() + seconds)
        return True

    # --- hashes --------------------------------------------------------------------------------------------------

    def hget(self, name: Any, key: Any) -> bytes | None:
        """A field of a hash."""
        return self._item(_bytes(name), "hash", _bytes(key))

    def hgetall(self, name: Any) -> dict[bytes, bytes]:
        """All fields of a hash."""
        return dict(self.hscan_iter(name))

    def hkeys(self, name: Any) -> list[bytes]:
        """The names of a hash's fields."""
        return [field for field, _ in self.hscan_iter(name)]

    def hlen(self, name: Any) -> int:
        """How many fields a hash has."""
        return len(self.hkeys(name))

    def hset(self, name: Any, key: Any = None, value: Any = None, mapping: Mapping[Any, Any] | None = None) -> int:
        """Set fields of a hash; gives how many are new."""
        pairs = [] if key is None else [(key, value)]
        fields = [(_bytes(field), _bytes(data)) for field, data in (*pairs, *(mapping or {}).items())]
        if not fields:
            raise DataError("'hset' with no key value pairs")
        with self._writing() as db:
            return sum(self._put(db, _bytes(name), "hash", field, data) for field, data in fields)

    def hsetnx(self, name: Any, key: Any, value: Any) -> int:
        """Set a field of a hash if it isn't there; 1 when it was set."""
        hash_key, field, data = _bytes(name), _bytes(key), _bytes(value)
        with self._writing() as db:
            if self._live_item(db, hash_key, "hash", field) is not None:
                return 0
            return int(self._put(db, hash_key, "hash", field, data))

    def hdel(self, name: Any, *keys: Any) -> int:
        """Delete fields of a hash; gives how many there were."""
        key, fields = _bytes(name), [_bytes(field) for field in keys]
        with self._writing() as db:
            self._expect(db, key, "hash")
            gone = sum(self._drop_item(db, key, field) for field in fields)
            self._drop_if_empty(db, key)
        return gone

    def hexpire(self, name: Any, seconds: float, *fields: Any) -> list[int]:
        """Let fields of a hash end after so many seconds: for each 1, or -2 when it isn't there."""
        key, end = _bytes(name), time.time() + seconds
        with self._writing() as db:
            self._expect(db, key, "hash")
            changed = [
                db.execute("UPDATE redis_item SET expires = ? WHERE key = ? AND field = ?", (end, key, _bytes(field)))
                for field in fields
            ]
        return [1 if cursor.rowcount else -2 for cursor in changed]

    def hscan_iter(self, name: Any, match: Any = None) -> Iterator[tuple[bytes, bytes]]:
        """The (field, value) pairs of a hash whose field matches a glob pattern."""
        key, now = _bytes(name), time.time()
        matches = _glob(b"*" if match is None else _bytes(match))
        with self._reading() as db:
            items: list[tuple[bytes, bytes]] = []
            if self._expect(db, key, "hash"):
                query = f"SELECT field, value FROM redis_item WHERE key = ? AND {_LIVE}"
                items = db.execute(query, (key, now)).fetchall()
        return (item for item in items if matches(item[0]))

    # --- lists ---------------------------------------------------------------------------------------------------

    def rpush(self, name: Any, *values: Any) -> int:
        """Append to a list; gives its new length."""
        key, items = _bytes(name), [_bytes(value) for value in values]
        with self._writing() as db:
            self._expect(db, key, "list")
            (last,) = db.execute("SELECT max(field) FROM redis_item WHERE key = ?", (key,)).fetchone()
            position = _MIDDLE if last is None else int.from_bytes(last) + 1
            for offset, data in enumerate(items):
                self._put(db, key, "list", (position + offset).to_bytes(8), data)
            return int(db.execute("SELECT count(*) FROM redis_item WHERE key = ?", (key,)).fetchone()[0])

    def lpop(self, name: Any, count: int | None = None) -> bytes | list[bytes] | None:
        """Take the first value of a list, or a list of up to `count`; None when it is empty."""
        key = _bytes(name)
        with self._writing() as db:
            self._expect(db, key, "list")
            query = "SELECT field, value FROM redis_item WHERE key = ? ORDER BY field LIMIT ?"
            taken = db.execute(query, (key, 1 if count is None else count)).fetchall()
            there = bool(taken) or self._kind(db, key) is not None
            for field, _ in taken:
                self._drop_item(db, key, field)
            self._drop_if_empty(db, key)
        values = [value for _, value in taken]
        if count is None:
            return values[0] if values else None
        return values if there else None

    # --- rows ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._file.translated:
            yield self._file.link().db

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._file.writing(join=True) as link:
            self._drop_expired(link.db)
            yield link.db

    def _drop_expired(self, db: sqlite3.Connection) -> None:
        now = time.time()
        for (key,) in db.execute("SELECT key FROM redis_key WHERE expires <= ?", (now,)).fetchall():
            self._drop(db, key)
        for key, field in db.execute("SELECT key, field FROM redis_item WHERE expires <= ?", (now,)).fetchall():
            self._drop_item(db, key, field)
            self._drop_if_empty(db, key)

    def _kind(self, db: sqlite3.Connection, key: bytes) -> str | None:
        found = db.execute(f"SELECT kind FROM redis_key WHERE key = ? AND {_LIVE}", (key, time.time())).fetchone()
        return found[0] if found else None

    def _expect(self, db: sqlite3.Connection, key: bytes, kind: str) -> bool:
        """Whether the key is there. Raises ResponseError when it is of another kind."""
        found = self._kind(db, key)
        if found not in (None, kind):
            raise ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value")
        return found is not None

    def _item(self, key: bytes, kind: str, field: bytes) -> bytes | None:
        with self._reading() as db:
            return self._live_item(db, key, kind, field)

    def _live_item(self, db: sqlite3.Connection, key: bytes, kind: str, field: bytes) -> bytes | None:
        if not self._expect(db, key, kind):
            return None
        query = f"SELECT value FROM redis_item WHERE key = ? AND field = ? AND {_LIVE}"
        found = db.execute(query, (key, field, time.time())).fetchone()
        return found[0] if found else None

    def _put(self, db: sqlite3.Connection, key: bytes, kind: str, field: bytes, value: bytes) -> bool:
        """Store one item; whether it is new."""
        if not self._expect(db, key, kind):
            db.execute("INSERT INTO redis_key (key, kind) VALUES (?, ?)", (key, kind))
        new = not self._drop_item(db, key, field)
        db.execute("INSERT INTO redis_item (key, field, value) VALUES (?, ?, ?)", (key, field, value))
        return new

    def _drop(self, db: sqlite3.Connection, key: bytes) -> bool:
        db.execute("DELETE FROM redis_item WHERE key = ?", (key,))
        return db.execute("DELETE FROM redis_key WHERE key = ?", (key,)).rowcount > 0

    def _drop_item(self, db: sqlite3.Connection, key: bytes, field: bytes) -> bool:
        return db.execute("DELETE FROM redis_item WHERE key = ? AND field = ?", (key, field)).rowcount > 0

    def _drop_if_empty(self, db: sqlite3.Connection, key: bytes) -> None:
        if not db.execute("SELECT 1 FROM redis_item WHERE key = ? LIMIT 1", (key,)).fetchone():
            db.execute("DELETE FROM redis_key WHERE key = ?", (key,))

    def _expire_key(self, db: sqlite3.Connection, key: bytes, end: float | None) -> bool:
        return db.execute("UPDATE redis_key SET expires = ? WHERE key = ?", (end, key)).rowcount > 0


def _glob(pattern: bytes) -> Callable[[bytes], object]:
    """The test of Redis's glob patterns: `*`, `?`, `[a-c]`, `[^a]` and a backslash before any of them."""
    if pattern == b"*":
        return lambda _: True
    token = re.compile(rb"\\(.)|(\*)|(\?)|\[(\^?)((?:\\.|[^\]])+)\]|(.)", re.DOTALL)
    parts = []
    for escaped, star, question, negated, members, plain in token.findall(pattern):
        if star:
            parts.append(b".*")
        elif question:
            parts.append(b".")
        elif members:
            parts.append(b"[" + negated + re.sub(rb"([\[&~|])", rb"\\\1", members) + b"]")
        else:
            parts.append(re.escape(escaped or plain))
    return re.compile(b"".join(parts), re.DOTALL).fullmatch
