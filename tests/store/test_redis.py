"""The Redis-shaped client against fakeredis, and what the file adds: what is set survives, and shares transactions."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from fakeredis import FakeRedis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.exceptions import DataError, ResponseError

import contextrender.store.redis
from contextrender.store import Store, open_store

Call = tuple[str, tuple[Any, ...], dict[str, Any]]

KEYS = st.sampled_from(["token", "code", "list", "plain"])
FIELDS = st.sampled_from(["u1:a", "u1:b", "u2:a", "[x]", "a*b", b"\xff"])
VALUES = st.sampled_from(["true", "", b"\x00\xff", 7, 2.5])
PATTERNS = st.sampled_from(["*", "u1:*", "u?:a", "[a-u]*", "[^u]*", "a\\*b", "\\[x]", "none", "u[1-2]:b", "[]"])


def calls() -> st.SearchStrategy[Call]:
    def call(name: str, *arguments: st.SearchStrategy[Any], **options: st.SearchStrategy[Any]) -> Any:
        return st.tuples(st.just(name), st.tuples(*arguments), st.fixed_dictionaries({}, optional=options))

    several = st.lists(FIELDS, min_size=1, max_size=3)
    return st.one_of(
        call("get", KEYS),
        call("set", KEYS, VALUES, nx=st.booleans()),
        call("delete", KEYS, KEYS),
        call("exists", KEYS),
        call("keys", PATTERNS),
        call("keys"),
        call("hget", KEYS, FIELDS),
        call("hset", KEYS, FIELDS, VALUES),
        call("hsetnx", KEYS, FIELDS, VALUES),
        st.builds(lambda key, fields: ("hdel", (key, *fields), {}), KEYS, several),
        call("hkeys", KEYS),
        call("hlen", KEYS),
        call("hgetall", KEYS),
        call("hscan_iter", KEYS, PATTERNS),
        st.builds(lambda key, values: ("rpush", (key, *values), {}), KEYS, st.lists(VALUES, min_size=1, max_size=3)),
        call("lpop", KEYS),
        call("lpop", KEYS, st.integers(1, 3)),
        call("ttl", KEYS),
        call("persist", KEYS),
        call("expire", KEYS, st.just(1000)),
    )


def answer(redis: Any, call: Call) -> Any:
    name, arguments, options = call
    try:
        result = getattr(redis, name)(*arguments, **options)
        if name in ("keys", "hkeys", "hscan_iter"):
            return sorted(result)
    except (ResponseError, DataError) as error:
        return type(error)
    return int(result) if isinstance(result, bool) else result


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(calls(), min_size=1, max_size=15))
def test_the_same_calls_give_the_same_answers_as_redis(tmp_path: Path, sequence: list[Call]) -> None:
    theirs = FakeRedis()
    with TemporaryDirectory(dir=tmp_path) as folder, open_store(Path(folder) / "store.db", fsync=False) as store:
        for call in sequence:
            assert answer(store.redis, call) == answer(theirs, call), call
    theirs.close()  # type: ignore[no-untyped-call]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Moves the shim's clock forward."""
    now = [1000.0]
    monkeypatch.setattr(contextrender.store.redis, "time", SimpleNamespace(time=lambda: now[0]))

    def forward(seconds: float) -> None:
        now[0] += seconds

    return forward


def test_what_has_expired_is_gone_without_anybody_deleting_it(store: Store, clock: Callable[[float], None]) -> None:
    redis = store.redis
    redis.set("string", "v", ex=10)
    redis.hset("hash", "f", "v")
    redis.expire("hash", 5)
    redis.rpush("list", "v")
    assert (redis.ttl("string"), redis.ttl("list"), redis.ttl("none")) == (10, -1, -2)
    clock(5)
    assert (redis.get("string"), redis.hget("hash", "f"), redis.keys()) == (b"v", None, [b"list", b"string"])
    clock(5)
    assert (redis.get("string"), redis.exists("string", "hash", "list")) == (None, 1)
    assert redis.hset("hash", "f", "new") == 1
    clock(1000)
    assert redis.hget("hash", "f") == b"new", "a new key has none of the old one's end"


def test_one_token_of_a_hash_can_expire_alone(store: Store, clock: Callable[[float], None]) -> None:
    redis = store.redis
    redis.hset("token", mapping={"a": 1, "b": 2})
    assert redis.hexpire("token", 10, "a", "none") == [1, -2]
    clock(10)
    assert redis.hgetall("token") == {b"b": b"2"}
    assert redis.hsetnx("token", "a", 3) == 1
    clock(1000)
    assert redis.hget("token", "a") == b"3"


def test_setting_a_string_again_takes_its_end_away(store: Store, clock: Callable[[float], None]) -> None:
    store.redis.set("k", 1, px=1500)
    store.redis.set("k", 2)
    clock(10)
    assert store.redis.get("k") == b"2"
    with pytest.raises(ResponseError):
        store.redis.set("k", 3, ex=0)


def test_expired_rows_are_taken_out_of_the_file(store: Store, clock: Callable[[float], None]) -> None:
    store.redis.set("k", "v", ex=1)
    clock(2)
    store.redis.set("other", "v")
    rows = store.file.link().db.execute("SELECT key FROM redis_item").fetchall()
    assert rows == [(b"other",)]


@pytest.mark.parametrize("value", [True, None, ["a"], {"a": 1}])
def test_a_value_that_redis_cannot_hold_is_refused(store: Store, value: object) -> None:
    with pytest.raises(DataError):
        store.redis.hset("token", "a", value)
    assert store.redis.keys() == []


def test_tokens_survive_a_restart(path: Path) -> None:
    with open_store(path) as store:
        store.redis.hset("token", "user:abc", "true")
    with open_store(path) as store:
        assert list(store.redis.hscan_iter("token", "user:*")) == [(b"user:abc", b"true")]


def test_a_write_during_the_threads_own_transaction_belongs_to_it(store: Store) -> None:
    nodes = store.client.get_database("jaseci").get_collection("node")
    with store.client.start_session() as session:
        session.start_transaction()
        nodes.insert_one({"_id": 1}, session=session)
        store.redis.hset("webhook", "k", "v")
        assert store.redis.hget("webhook", "k") == b"v"
        session.abort_transaction()
    assert store.redis.hget("webhook", "k") is None
