"""`jac serve` on our entry file: the same endpoints for those who live in Jaseci, on the same store."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

from contextrender import Session
from contextrender.client import Client
from tests.proxy.provider import chat_run

ROOT = Path(__file__).parents[2]
LOGIN = {"email": "a@example.com", "password": "a password"}


def test_jac_serve_serves_the_walkers(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    argv = [str(Path(sys.executable).with_name("jac")), "serve", str(ROOT / "jac" / "service.jac")]
    env = os.environ | {"CONTEXTRENDER_DATA": str(tmp_path / "data"), "CONTEXTRENDER_EMBEDDER": "hash"}
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [*argv, "--host", "127.0.0.1", "--port", str(port)], env=env, cwd=tmp_path, stdout=log, stderr=log
        )
    url, run = f"http://127.0.0.1:{port}", chat_run(8)
    try:
        token = logged_in(url, process)
        with Client(url, token) as client:
            remote = client.open_session(budget=1_500, embedder="hash")
            local = Session("default", 1_500, "hash")
            for length in range(2, len(run) + 1, 2):
                assert remote.sync(run[:length]).messages == local.sync(run[:length]).messages
        paths = httpx.get(f"{url}/openapi.json").json()["paths"]
        assert "/walker/sync" in paths
        assert not [path for path in paths if "webhook" in path or "util" in path]
    finally:
        process.terminate()
        process.wait(20)
    assert (tmp_path / "data" / "contextrender.db").exists()


def logged_in(url: str, process: "subprocess.Popen[bytes]") -> str:
    """A token of a new user, once the server is there."""
    until = time.monotonic() + 60
    while True:
        try:
            httpx.post(f"{url}/user/register", json=LOGIN).raise_for_status()
            return str(httpx.post(f"{url}/user/login", json=LOGIN).json()["token"])
        except httpx.ConnectError:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.2)
