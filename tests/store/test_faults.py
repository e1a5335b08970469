"""Files that can't be used: a clear error that names the file, nothing acknowledged that isn't kept, and service again
once the cause is gone."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pymongo.errors import InvalidOperation, OperationFailure, PyMongoError

import contextrender.store
from contextrender.store import (
    Collection,
    Problem,
    Store,
    StoreCorruptedError,
    StoreError,
    StoreForeignError,
    StoreFullError,
    StoreLockedError,
    StoreNewerError,
    StoreReadOnlyError,
    open_store,
    schema,
)

pytestmark = pytest.mark.faults
PACKAGES = str(Path(contextrender.store.__file__).parents[2])


def nodes_of(store: Store) -> Collection:
    return store.client.get_database("jaseci").get_collection("node")


def filled(path: Path, documents: int = 200) -> None:
    with open_store(path, fsync=False) as store:
        nodes_of(store).create_index("sid")
        nodes_of(store).insert_many([{"_id": n, "sid": "s", "text": "x" * 500} for n in range(documents)])


@contextlib.contextmanager
def foreign(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of another program."""
    db = sqlite3.connect(path, isolation_level=None)
    try:
        yield db
    finally:
        db.close()


def test_the_file_and_its_folder_are_private(path: Path) -> None:
    with open_store(path) as store:
        nodes_of(store).insert_one({"_id": 1})
        assert path.parent.stat().st_mode & 0o777 == 0o700
        modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert modes == dict.fromkeys(["store.db", "store.db-wal", "store.db-shm"], 0o600)


def test_a_folder_that_was_there_keeps_its_mode_and_a_file_loses_what_others_may(path: Path) -> None:
    path.parent.mkdir(mode=0o755)
    path.touch(mode=0o644)
    open_store(path).close()
    assert path.parent.stat().st_mode & 0o777 == 0o755
    assert path.stat().st_mode & 0o777 == 0o600


# --- what is no store of this version -------------------------------------------------------------------------------


def test_another_programs_database_is_refused_and_not_touched(path: Path) -> None:
    path.parent.mkdir()
    with foreign(path) as db:
        db.execute("CREATE TABLE theirs (a)")
    before = path.read_bytes()
    with pytest.raises(StoreForeignError, match=r"store\.db is another program's database"):
        open_store(path)
    assert path.read_bytes() == before


def test_a_newer_schema_is_refused_and_not_touched(path: Path) -> None:
    filled(path)
    with foreign(path) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreNewerError, match="version 99, this program knows 1"):
        open_store(path)
    with foreign(path) as db:
        db.execute("PRAGMA user_version = 1")
    with open_store(path) as store:
        assert nodes_of(store).count_documents({}) == 200


def test_an_older_file_is_brought_up_to_date_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)
    steps = [lambda db: db.execute("CREATE TABLE extra (a)"), lambda db: db.execute("INSERT INTO extra VALUES (1)")]
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, *steps])
    monkeypatch.setattr(contextrender.store.sqlite, "MIGRATIONS", schema.MIGRATIONS)
    for _ in range(2):
        with open_store(path) as store:
            assert store.file.link().db.execute("SELECT count(*) FROM extra").fetchone() == (1,)
            assert store.file.link().db.execute("PRAGMA user_version").fetchone() == (3,)
            assert nodes_of(store).count_documents({}) == 200


def test_a_migration_that_fails_leaves_the_older_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)

    def broken(db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE extra (a)")
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, broken])
        patched.setattr(contextrender.store.sqlite, "MIGRATIONS", schema.MIGRATIONS)
        with pytest.raises(ZeroDivisionError):
            open_store(path)
    with open_store(path) as store:
        assert nodes_of(store).count_documents({}) == 200
        assert store.check() == []


# --- damage ---------------------------------------------------------------------------------------------------------


def test_a_file_that_is_no_database_is_refused_and_not_touched(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is a text file, not a database\n" * 200)
    before = path.read_bytes()
    with pytest.raises(StoreCorruptedError, match="damaged or not a database") as refused:
        open_store(path)
    assert "doctor" in str(refused.value)
    assert path.read_bytes() == before


def test_a_damaged_file_is_an_error_and_a_restored_one_serves_again(path: Path, tmp_path: Path) -> None:
    filled(path, 2000)
    backup = shutil.copy(path, tmp_path / "backup.db")
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xa5" * (path.stat().st_size - 16384))
    with open_store(path) as store:
        with pytest.raises(StoreCorruptedError, match=str(path)):
            list(nodes_of(store).find())
        problems = store.check()
        assert problems
        assert all(isinstance(problem, Problem) and problem.what for problem in problems)
        shutil.copy(backup, path)
        for rest in ("-wal", "-shm"):
            path.with_name(path.name + rest).unlink(missing_ok=True)
        store.file.drop_link()
        assert nodes_of(store).count_documents({"sid": "s"}) == 2000
        assert store.check() == []


def test_the_check_finds_undecodable_documents_and_wrong_keys_without_showing_them(path: Path) -> None:
    filled(path, 3)
    with foreign(path) as db:
        db.execute("UPDATE documents_1 SET doc = x'00112233' WHERE seq = 1")
        db.execute("UPDATE documents_1 SET key_001 = x'00' WHERE seq = 2")
        db.execute("UPDATE documents_1 SET id = x'00' WHERE seq = 3")
    with open_store(path) as store:
        assert store.check() == [
            Problem("jaseci.node row 1", "the document can't be decoded (InvalidBSON)"),
            Problem("jaseci.node row 2", "an index doesn't fit the document"),
            Problem("jaseci.node row 3", "the _id is not that of the document"),
        ]


def test_a_file_that_is_taken_away_is_an_error_and_one_that_is_put_back_serves_again(path: Path) -> None:
    filled(path)
    aside = path.with_name("aside.db")
    with open_store(path) as store:
        store.file.drop_link()
        path.rename(aside)
        with pytest.raises(StoreError, match="gone"):
            nodes_of(store).find_one({"_id": 1})
        aside.rename(path)
        assert nodes_of(store).find_one({"_id": 1}) is not None


# --- room, permission, locks ----------------------------------------------------------------------------------------


def test_a_full_disk_is_an_error_that_keeps_what_was_acknowledged(store: Store) -> None:
    nodes = nodes_of(store)
    db = store.file.link().db
    nodes.insert_one({"_id": 0})
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count = {pages + 20}")
    kept = 1

    def fill() -> None:
        nonlocal kept
        while kept < 1000:
            nodes.insert_many([{"text": "x" * 1000} for _ in range(3)])
            kept += 3

    with pytest.raises(StoreFullError, match="free disk space"):
        fill()
    assert nodes.count_documents({}) == kept
    session = store.client.start_session()
    session.start_transaction()
    nodes.update_one({"_id": 0}, {"$set": {"n": 1}}, session=session)
    store.file.link().db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreFullError):
        nodes.insert_one({"_id": "huge", "text": "x" * 100_000}, session=session)
    with pytest.raises(OperationFailure, match="undone"):
        session.commit_transaction()
    assert nodes.find_one({"_id": 0}) == {"_id": 0}
    assert nodes.count_documents({}) == kept
    nodes.insert_one({"_id": "later", "text": "x" * 100_000})  # a new connection has no limit: the cause is gone
    assert nodes.count_documents({}) == kept + 1
    assert store.check() == []


def test_a_locked_file_is_an_error_and_a_freed_one_serves_again(path: Path) -> None:
    with open_store(path, busy_timeout=0.1) as store, foreign(path) as other:
        nodes_of(store).insert_one({"_id": 1})
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLockedError, match="locked by another writer") as refused:
            nodes_of(store).insert_one({"_id": 2})
        assert isinstance(refused.value, PyMongoError)
        assert not refused.value.has_error_label("TransientTransactionError"), "it was in no transaction"
        assert nodes_of(store).find_one({"_id": 1}) == {"_id": 1}, "reading goes on"
        other.execute("ROLLBACK")
        nodes_of(store).insert_one({"_id": 2})
        assert nodes_of(store).count_documents({}) == 2


READ_ONLY = """
import ctypes, os, sys
from pathlib import Path
libc = ctypes.CDLL(None, use_errno=True)
if os.geteuid() == 0:  # root ignores permissions until it gives these capabilities up
    class Header(ctypes.Structure):
        _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]
    sets = (ctypes.c_uint32 * 6)()
    if libc.capset(ctypes.byref(Header(0x20080522, 0)), sets):
        sys.exit(77)
from contextrender.store import StoreReadOnlyError, open_store
path, mode = Path(sys.argv[1]), sys.argv[2]
held = open_store(path) if mode == "open" else None
for file in path.parent.iterdir():
    file.chmod(0o400)
path.parent.chmod(0o500)
try:
    store = held or open_store(path)
    if held:
        held.file.drop_link()
    store.client.get_database("jaseci").get_collection("node").insert_one({"_id": "new"})
except StoreReadOnlyError as error:
    assert "permission" in str(error) and str(path.parent) in str(error), error
else:
    sys.exit("it was written")
finally:
    path.parent.chmod(0o700)
    for file in path.parent.iterdir():
        file.chmod(0o600)
store = held or open_store(path)
store.client.get_database("jaseci").get_collection("node").insert_one({"_id": "after"})
assert store.check() == []
"""


@pytest.mark.parametrize("mode", ["closed", "open"])
def test_a_read_only_folder_is_an_error_and_a_writable_one_serves_again(path: Path, mode: str) -> None:
    filled(path)
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, str(path), mode],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": PACKAGES},
    )
    if done.returncode == 77:
        pytest.skip("root here can't give up its right to write everywhere")
    assert done.returncode == 0, done.stderr
    with open_store(path) as store:
        assert nodes_of(store).count_documents({}) == 201


def test_a_read_only_connection_is_the_same_error(store: Store) -> None:
    nodes_of(store).insert_one({"_id": 1})
    store.file.link().db.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreReadOnlyError):
        nodes_of(store).insert_one({"_id": 2})
    nodes_of(store).insert_one({"_id": 3})
    assert nodes_of(store).count_documents({}) == 2


def test_a_path_that_is_a_folder_or_lies_below_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for wrong in (tmp_path, tmp_path / "file" / "store.db"):
        with pytest.raises(StoreError, match=str(wrong)):
            open_store(wrong)


def test_a_closed_store_says_so_in_every_thread(store: Store) -> None:
    nodes_of(store).insert_one({"_id": 1})
    errors: list[BaseException] = []
    opened, closed = threading.Event(), threading.Event()

    def use() -> None:
        nodes_of(store).find_one({"_id": 1})
        opened.set()
        closed.wait()
        try:
            nodes_of(store).find_one({"_id": 1})
        except InvalidOperation as error:
            errors.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    opened.wait()
    store.close()
    closed.set()
    thread.join()
    assert len(errors) == 1
    with pytest.raises(InvalidOperation, match="closed"):
        nodes_of(store).insert_one({"_id": 2})


def test_a_deleted_document_is_overwritten_in_the_file(path: Path) -> None:
    with open_store(path) as store:
        nodes_of(store).insert_one({"_id": 1, "text": "top secret" * 1000})
        store.checkpoint()
        assert b"top secret" in path.read_bytes()
        nodes_of(store).delete_one({"_id": 1})
        store.checkpoint()
        assert all(b"top secret" not in file.read_bytes() for file in path.parent.iterdir())
