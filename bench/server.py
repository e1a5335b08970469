"""Benchmark of `contextrender serve`: real processes, real HTTP on loopback. Medians; ratios in one run.

.venv/bin/python bench/server.py [--quick]
"""

import argparse
import logging
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx
from core import step
from rich.console import Console
from rich.progress import track
from rich.table import Table

from contextrender.client import Client, RemoteSession

BIN = Path(sys.executable).parent
PLAIN = Path(__file__).parent / "plain" / "serve.jac"
HERTZ = os.sysconf("SC_CLK_TCK")
logging.getLogger("httpx").setLevel(logging.WARNING)


@contextmanager
def serving(data: Path) -> Iterator[tuple[int, Client, float]]:
    """A server over this folder: its process id, a client, and seconds until it was ready."""
    began = time.perf_counter()
    argv = [str(BIN / "contextrender"), "serve", "--port", "0", "--data", str(data)]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            found = re.search(r"on (http://[^ ]*:\d+)", process.stderr.readline())
            assert found
            threading.Thread(target=process.stderr.read, daemon=True).start()  # else its log would fill the pipe
            with httpx.Client(timeout=60, transport=httpx.HTTPTransport(retries=50)) as http:
                http.get(f"{found[1]}/healthz").raise_for_status()
            ready = time.perf_counter() - began
            with Client(found[1], (data / "token").read_text()) as client:
                yield process.pid, client, ready
        finally:
            process.terminate()
            process.wait()


def memory(pid: int) -> float:
    """Resident MiB of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


def cpu_seconds(pid: int) -> float:
    """Processor seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / HERTZ


def run_of(events: int) -> list[dict]:
    """A conversation of this many messages."""
    return [{"role": "user", "content": "track the orders"}, *(m for n in range(events // 2) for m in step(n))]


def milliseconds(action: Callable[[], object]) -> float:
    """How long it took."""
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1e3


def fill(remote: RemoteSession, messages: list[dict]) -> None:
    """Bring a long conversation there, in requests of a size that the server takes."""
    for length in range(2_000, len(messages) + 2_000, 2_000):
        remote.sync(messages[:length])


def sync_times(remote: RemoteSession, messages: list[dict], turns: int) -> list[float]:
    """Milliseconds of `turns` syncs of one turn each, behind these messages."""
    times = []
    for number in range(turns):
        messages += step(len(messages) + number)
        times.append(milliseconds(partial(remote.sync, messages)))
    return times


def lengths(console: Console, data: Path, sizes: list[int], turns: int) -> None:
    """Sync of one turn, at sessions of these lengths, and the first one after a restart."""
    rows, kept = [], []
    with serving(data) as (_, client, ready):
        console.print(f"start to /healthz: {ready:.2f} s")
        for size in sizes:
            remote, messages = client.open_session(key=f"length {size}"), run_of(size)
            fill(remote, messages)
            times = sync_times(remote, messages, turns)
            kept.append(messages)
            p95 = statistics.quantiles(times, n=20)[-1]
            rows.append([f"{size:,}", f"{statistics.median(times):.1f}", f"{p95:.1f}"])
    with serving(data) as (_, client, _):
        for size, messages, row in zip(sizes, kept, rows, strict=True):
            remote = client.open_session(key=f"length {size}")
            row.append(f"{milliseconds(remote.render):.0f}")
            row.append(f"{milliseconds(partial(remote.sync, messages)):.0f}")
    table = Table(title="sync of one turn over HTTP, ms")
    for heading in ("events", "p50", "p95", "first render after a restart", "then the whole list sent"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def many(console: Console, data: Path, count: int) -> None:
    """Memory over many sessions, and what an idle server does."""
    messages = run_of(100)
    with serving(data) as (pid, client, _):
        before = memory(pid)
        for number in track(range(count), "sessions", console=console):
            client.open_session(key=f"many {number}").sync(messages)
        after = memory(pid)
        used = cpu_seconds(pid)
        time.sleep(10)
        idle = (cpu_seconds(pid) - used) / 10
    console.print(f"memory: {before:.0f} MiB at the start, {after:.0f} MiB after {count:,} sessions of 101 events")
    console.print(f"idle: {idle:.1%} of a processor")


def plain(console: Console, data: Path, events: int) -> None:
    """The same turn on plain jac-cloud with its own storage: a walker over the chain."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    settings = {"DATABASE_PATH": str(data / "plain"), "LOGGER_FILE_PATH": str(data / "plain.log")}
    argv = [str(BIN / "jac"), "serve", str(PLAIN), "--host", "127.0.0.1", "--port", str(port)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(argv, cwd=data, env=os.environ | settings, **quiet) as process:
        transport = httpx.HTTPTransport(retries=50)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=600, transport=transport) as http:
            login = {"email": "a@example.com", "password": "password"}
            for _ in range(60):
                try:
                    http.post("/user/register", json=login).raise_for_status()
                    break
                except httpx.HTTPError:
                    time.sleep(0.5)
            http.headers["authorization"] = f"Bearer {http.post('/user/login', json=login).json()['token']}"

            def turn(number: int) -> None:
                for message in step(number):
                    http.post("/walker/sync", json={"text": str(message)}).raise_for_status()

            for number in track(range(events // 2), "plain jac-cloud", console=console):
                turn(number)
            theirs = statistics.median(milliseconds(partial(turn, events + number)) for number in range(5))
        process.terminate()
    with serving(data / "ours") as (_, client, _):
        remote, messages = client.open_session(), run_of(events)
        fill(remote, messages)
        ours = statistics.median(sync_times(remote, messages, 20))
    console.print(
        f"one turn behind {events} events: plain jac-cloud {theirs:,.0f} ms (a walk over the chain, no selection), "
        f"ours {ours:.1f} ms (ingested, tracked, rendered): {theirs / ours:,.0f} times"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="2,000 events and 50 sessions only")
    quick = parser.parse_args().quick
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        lengths(console, Path(folder) / "lengths", [2_000] if quick else [2_000, 20_000, 100_000], 200)
        many(console, Path(folder) / "many", 50 if quick else 1_000)
        (Path(folder) / "jac").mkdir()
        plain(console, Path(folder) / "jac", 20 if quick else 100)


if __name__ == "__main__":
    main()
