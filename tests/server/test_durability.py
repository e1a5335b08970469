"""Acknowledged means on disk: servers killed at random moments, several servers on one store, files that go bad."""

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextrender import Session
from contextrender.client import Client
from contextrender.errors import ContextRenderError, UnavailableError
from tests.proxy.provider import COMMAND, Running, chat_run
from tests.server.running import client, served

KILLS = int(os.environ.get("CONTEXTRENDER_TEST_KILLS", "4"))
SYNCS = int(os.environ.get("CONTEXTRENDER_TEST_SYNCS", "160"))


def doctor(data: Path, *options: str) -> str:
    """What `contextrender doctor` says; "" when all is well."""
    argv = [str(COMMAND), "doctor", "--data", str(data), *options]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == (1 if done.stdout and not options else 0), done.stderr
    return done.stdout


def text_of(message: dict[str, Any]) -> str:
    """What a message says."""
    return str(message["content"])


def write(mine: Client, session: str, name: str, acknowledged: list[str], stop: threading.Event) -> None:
    """Ingest one message after the other until the server is gone."""
    remote = mine.session(session)
    for number in range(10_000):
        if stop.is_set():
            return
        text = f"{name}-{len(acknowledged)}-{number}"
        try:
            remote.ingest([{"role": "user", "content": text}], whole=False)
        except UnavailableError:
            return
        acknowledged.append(text)


@pytest.mark.faults
def test_no_acknowledged_event_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    """Four writers, each in a session of its own, and kill -9 at random moments."""
    data = tmp_path / "data"
    acknowledged: list[list[str]] = [[] for _ in range(4)]
    random.seed(7)
    for _ in range(KILLS):
        with served(data) as running, client(running, data) as mine:
            ids = [mine.open_session(key=f"writer {number}").id for number in range(4)]
            stop = threading.Event()
            threads = [
                threading.Thread(target=write, args=(mine, ids[n], f"w{n}", acknowledged[n], stop)) for n in range(4)
            ]
            for thread in threads:
                thread.start()
            time.sleep(random.uniform(0.1, 1.0))
            running.process.send_signal(signal.SIGKILL)
            running.process.wait()
            stop.set()
            for thread in threads:
                thread.join()
    assert doctor(data) == ""
    assert min(map(len, acknowledged)) > KILLS
    with served(data) as running, client(running, data) as mine:
        for number, texts in enumerate(acknowledged):
            exported = mine.open_session(key=f"writer {number}").export()
            kept = [text_of(message) for message in json.loads(exported.splitlines()[-1])["messages"]]
            missing = [text for text in texts if text not in set(kept)]
            assert missing == []
            assert [text for text in kept if text in set(texts)] == texts


@pytest.mark.faults
def test_two_servers_on_one_store_are_one(tmp_path: Path) -> None:
    """Agents that change the server at every call get what one process would have given."""
    data, run = tmp_path / "data", chat_run(12)
    local = Session("default", 1_500, "hash")
    with (
        served(data, "--embedder", "hash") as one,
        served(data, "--embedder", "hash") as two,
        client(one, data) as first,
        client(two, data) as second,
    ):
        sid = first.open_session(budget=1_500, key="shared").id
        assert second.open_session(key="shared").id == sid
        for number, length in enumerate(range(2, len(run) + 1, 2)):
            local.ingest(run[:length], whole=True)
            remote = (first, second)[number % 2].session(sid)
            assert remote.sync(run[:length]).messages == local.render().messages
            assert second.session(sid).explain(f"s{number + 1}") == local.explain(f"s{number + 1}")
    assert doctor(data) == ""


@pytest.mark.faults
@pytest.mark.parametrize("workers", [1, 2])
def test_many_clients_of_two_processes_make_one_chain(tmp_path: Path, workers: int) -> None:
    """Eight clients of each of two servers (or of two workers of one) add to one session at once: nothing is lost."""
    data = tmp_path / "data"
    failures: list[str] = []
    told: list[str] = []

    def add(mine: Client, sid: str, name: str) -> None:
        remote = mine.session(sid)
        for number in range(SYNCS // 16):
            try:
                remote.ingest([{"role": "user", "content": f"{name}-{number}"}], whole=False)
                remote.render()
                told.append(f"{name}-{number}")
            except ContextRenderError as error:
                failures.append(f"{name}: {error}")

    with served(data, "--workers", str(workers)) as one, served(data) as two:
        clients = [client((one, two)[number % 2], data) for number in range(16)]
        sid = clients[0].open_session(key="crowd").id
        threads = [threading.Thread(target=add, args=(mine, sid, f"c{n}")) for n, mine in enumerate(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        exported = clients[0].session(sid).export().splitlines()
        kept = [text_of(message) for message in json.loads(exported[-1])["messages"]]
        assert sorted(kept) == sorted(told)
        assert len(exported) == 2, "more than one branch"
        for mine in clients:
            mine.close()
    assert doctor(data) == ""


def refused(work: Callable[[], object]) -> str:
    """What the error says."""
    with pytest.raises(UnavailableError) as caught:
        work()
    return str(caught.value)


@pytest.mark.faults
def test_a_locked_file_is_a_clear_error_and_service_comes_back(tmp_path: Path) -> None:
    import sqlite3

    data = tmp_path / "data"
    with served(data, "--busy-timeout", "0.2") as running, client(running, data) as mine:
        remote = mine.open_session()
        remote.ingest([{"role": "user", "content": "before"}])
        other = sqlite3.connect(data / "contextrender.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert "nothing was stored" in refused(lambda: remote.ingest([{"role": "user", "content": "lost"}], False))
        assert remote.graph()["nodes"], "reading goes on"
        other.execute("ROLLBACK")
        other.close()
        remote.ingest([{"role": "user", "content": "after"}], whole=False)
        assert [text_of(message) for message in remote.render().messages] == ["before", "after"]


@pytest.mark.faults
def test_a_full_disk_is_a_clear_error_and_service_comes_back(tmp_path: Path) -> None:
    """The limit on the size of files is the disk that is full."""
    import resource

    data = tmp_path / "data"
    with served(data) as running, client(running, data) as mine:
        remote = mine.open_session()
        remote.ingest([{"role": "user", "content": "before"}])
        size = max(path.stat().st_size for path in data.iterdir())
        pid, no_limit = running.process.pid, resource.RLIM_INFINITY
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size + 20_000, no_limit))
        said = refused(lambda: remote.ingest([{"role": "user", "content": "x" * 1_500_000}], False))
        assert "nothing was stored" in said
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (no_limit, no_limit))
        remote.ingest([{"role": "user", "content": "after"}], whole=False)
        assert [text_of(message) for message in remote.render().messages] == ["before", "after"]
    assert doctor(data) == ""


@pytest.mark.faults
def test_a_folder_that_cannot_be_written_is_a_clear_error_and_service_comes_back(tmp_path: Path) -> None:
    """Root may write anywhere; here it is asked to do without."""
    data = tmp_path / "data"
    with served(data) as running, client(running, data) as mine:
        mine.open_session(key="one").ingest([{"role": "user", "content": "before"}])
    for path in (tmp_path, data, *data.iterdir()):
        path.chmod(0o555 if path.is_dir() else 0o444)
    argv = [str(COMMAND), "serve", "--port", "0", "--data", str(data)]
    as_anyone = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.getuid() == 0 else []
    done = subprocess.run([*as_anyone, *argv], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stderr
    assert str(data) in done.stderr
    assert "Traceback" not in done.stderr
    for path in (tmp_path, data, *data.iterdir()):
        path.chmod(0o700 if path.is_dir() else 0o600)
    with served(data) as running, client(running, data) as mine:
        assert [text_of(message) for message in mine.open_session(key="one").render().messages] == ["before"]


@pytest.mark.faults
def test_a_damaged_file_is_told_at_the_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with served(data):
        pass
    path = data / "contextrender.db"
    path.write_bytes(b"no database at all" * 500)
    argv = [str(COMMAND), "serve", "--port", "0", "--data", str(data)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert str(path) in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.faults
def test_doctor_finds_and_removes_links_that_lead_nowhere(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with served(data) as running, client(running, data) as mine:
        mine.open_session(budget=500).sync(chat_run(4))
    argv = ["-c", BREAK, str(data)]
    subprocess.run([str(COMMAND.parent / "python"), *argv], check=True)
    (data / "secret").chmod(0o644)
    found = doctor(data)
    assert "refers to a missing edge" in found
    assert "an end of it is missing" in found
    assert "others may read it" in found
    assert doctor(data, "--repair").count("repaired") == len(found.splitlines())
    assert doctor(data) == ""


BREAK = """
import sys
from pathlib import Path
from contextrender.server.platform import start
start(Path(sys.argv[1]))
from jac_cloud.core.archetype import EdgeAnchor, NodeAnchor
NodeAnchor.Collection.collection().delete_one({"name": "ToolCall"})
EdgeAnchor.Collection.collection().delete_one({"name": "Follows"})
"""


def test_sessions_whose_time_is_over_are_deleted(tmp_path: Path) -> None:
    """A lease that is over, put there by hand: a day is too long to wait for."""
    data = tmp_path / "data"
    with served(data, "--retention-days", "1") as running, client(running, data) as mine:
        short, long = mine.open_session(), mine.open_session(days=30)
        short.ingest([{"role": "user", "content": "x"}])
    subprocess.run([str(COMMAND.parent / "python"), "-c", AGE, str(data), short.id], check=True)
    with served(data) as running, client(running, data) as mine:
        until = time.monotonic() + 10
        while len(mine.sessions()["sessions"]) == 2 and time.monotonic() < until:
            time.sleep(0.1)
        assert [row["session"] for row in mine.sessions()["sessions"]] == [long.id]
    assert doctor(data) == ""


AGE = """
import sys
from pathlib import Path
from contextrender.server.platform import start
start(Path(sys.argv[1]))
from jac_cloud.jaseci.datasources.collection import Collection
Collection.get_collection("contextrender_lease").update_one({"_id": sys.argv[2]}, {"$set": {"until": 1.0}})
"""


def test_requests_in_flight_are_finished_before_the_end(tmp_path: Path) -> None:
    data = tmp_path / "data"
    done: list[int] = []
    with served(data) as running, client(running, data) as mine:
        remote = mine.open_session(budget=2_000)
        thread = threading.Thread(target=lambda: done.append(remote.sync(chat_run(200)).tokens))
        thread.start()
        time.sleep(0.15)
        running.process.send_signal(signal.SIGTERM)
        thread.join()
        assert running.process.wait(30) == 0
    assert done
    assert done[0] <= 2_000


def test_figures_are_counted_over_all_workers(tmp_path: Path) -> None:
    import httpx

    data = tmp_path / "data"
    with served(data, "--workers", "2") as running:
        for _ in range(6):  # each client has a connection of its own, to any worker
            with client(running, data) as mine:
                mine.open_session(key="one").render()

        def counted(running: Running) -> str:
            return httpx.get(f"http://127.0.0.1:{running.port}/metrics").text

        assert "contextrender_renders_total 6.0" in counted(running)
        assert 'contextrender_request_seconds_count{endpoint="/walker/render",status="2xx"} 6.0' in counted(running)
