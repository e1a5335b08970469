"""What the server refuses, tried from outside."""

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from contextrender.client import Client
from contextrender.errors import AccessError
from tests.proxy.provider import COMMAND, Running
from tests.server.running import client, new_token, served

PRUNED = [
    ("GET", "/util/traverse"),
    ("GET", "/util/traverse-stream"),
    ("POST", "/webhook/generate-key"),
    ("GET", "/webhook"),
    ("DELETE", "/webhook/delete"),
    ("GET", "/sso/google/login"),
    ("POST", "/user/forgot_password"),
    ("POST", "/user/reset_password"),
    ("POST", "/user/verify"),
    ("POST", "/user/send-verification-code"),
    ("GET", "/websocket"),
    ("GET", "/redoc"),
]


def ask(running: Running, method: str, path: str, **options: Any) -> httpx.Response:
    """One request."""
    return httpx.request(method, f"http://127.0.0.1:{running.port}{path}", timeout=30, **options)


@pytest.mark.parametrize(("method", "path"), PRUNED)
def test_what_jac_cloud_mounts_for_anyone_is_not_there(server: Running, method: str, path: str) -> None:
    assert ask(server, method, path).status_code == 404


def test_the_description_is_of_our_endpoints_only(server: Running) -> None:
    paths = set(ask(server, "GET", "/openapi.json").json()["paths"])
    walkers = "open_session ingest render sync extend note explain recall record_usage sessions graph costs"
    more = "export_session import_session delete_session"
    users = {"/user/register", "/user/login", "/user/change_password"}
    assert paths == {f"/walker/{name}" for name in f"{walkers} {more}".split()} | users


@pytest.mark.parametrize("token", ["", "nonsense", "cr_nonsense", "eyJhbGciOiJub25lIn0.e30."])
@pytest.mark.parametrize("walker", ["sessions", "open_session", "delete_session"])
def test_without_a_good_token_there_is_nothing(server: Running, walker: str, token: str) -> None:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    response = ask(server, "POST", f"/walker/{walker}", json={}, headers=headers)
    assert (response.status_code, response.json()["error"]["type"]) == (401, "access")
    assert response.headers["www-authenticate"] == "Bearer"


def test_a_revoked_token_is_worthless_at_once(server: Running, data: Path) -> None:
    token = new_token(data, "short-lived")
    with client(server, data, token) as mine:
        mine.sessions()
        subprocess.run([str(COMMAND), "token", "revoke", "short-lived", "--data", str(data)], check=True)
        with pytest.raises(AccessError):
            mine.sessions()


def test_a_token_is_stored_as_a_hash_only(server: Running, data: Path) -> None:
    token = new_token(data, "hashed")
    files = [path for path in data.iterdir() if path.name != "token"]
    assert not any(token.encode() in path.read_bytes() for path in files)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1:8420", ""])
def test_another_host_header_is_a_web_pages_trick(server: Running, host: str) -> None:
    for path in ("/healthz", "/walker/sessions", "/v1/models", "/metrics", "/docs"):
        assert ask(server, "POST", path, headers={"host": host}).status_code == 403, path


def test_pages_of_other_machines_are_not_served(server: Running) -> None:
    for path in ("/walker/sessions", "/v1/chat/completions"):
        response = ask(server, "POST", path, headers={"origin": "https://evil.example"}, json={})
        assert response.status_code == 403
        asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
        assert "access-control-allow-origin" not in ask(server, "OPTIONS", path, headers=asked).headers


def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not(server: Running, mine: Client) -> None:
    headers = {"authorization": mine._http.headers["authorization"]}
    large = b"x" * (3 << 20)
    for content in (large, iter([large])):
        try:
            response = ask(server, "POST", "/walker/sessions", content=content, headers=headers)
        except (httpx.WriteError, httpx.ReadError):
            continue  # it hung up while we were still sending
        assert response.status_code == 413


def test_passwords_can_be_tried_a_few_times_only(tmp_path: Path) -> None:
    with served(tmp_path / "data") as running:
        login = {"email": "nobody@example.com", "password": "guess"}
        codes = [ask(running, "POST", "/user/login", json=login).status_code for _ in range(14)]
        assert codes == [400] * 10 + [429] * 4
        refused = ask(running, "POST", "/user/register", json=login)
        assert refused.status_code == 403


def test_who_registers_has_sessions_of_their_own(server: Running, data: Path) -> None:
    account = {"email": "new@example.com", "password": "a long one"}
    assert ask(server, "POST", "/user/register", json=account).status_code == 201
    assert ask(server, "POST", "/user/register", json=account).status_code == 409
    token = ask(server, "POST", "/user/login", json=account).json()["token"]
    with client(server, data, token) as mine:
        assert mine.sessions()["sessions"] == []
        mine.open_session()
        assert len(mine.sessions()["sessions"]) == 1


def test_files_are_this_users_only(server: Running, data: Path) -> None:
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    for path in data.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path.name


def test_nothing_that_was_said_is_in_a_log_or_in_the_output(tmp_path: Path) -> None:
    data, secret = tmp_path / "data", "SECRET_7f3a"
    with served(data, "--log-level", "debug") as running, client(running, data) as mine:
        remote = mine.open_session(key=secret)
        remote.sync([{"role": "user", "content": secret}])
        headers = {"authorization": mine._http.headers["authorization"]}
        for walker, body in (("sync", {"session": secret, "messages": [{"role": secret}]}), ("ingest", {"x": secret})):
            answer = ask(running, "POST", f"/walker/{walker}", json=body, headers=headers)
            assert answer.status_code in (404, 422)
        ask(running, "POST", "/user/login", json={"email": "a@example.com", "password": secret})
        ask(running, "POST", f"/s/{secret}/v1/nonsense")
        ask(running, "POST", "/walker/sync", content=f'{{"{secret}'.encode(), headers=headers)
    assert secret not in running.log
    for line in running.log.splitlines()[1:]:
        assert {"time", "level", "message"} <= set(json.loads(line)), line
    for path in data.glob("*.log*"):
        assert secret not in path.read_text(), path.name


def test_other_machines_are_served_only_with_a_token(tmp_path: Path) -> None:
    data = tmp_path / "data"
    argv = [str(COMMAND), "serve", "--host", "0.0.0.0", "--port", "0", "--data", str(data)]
    refused = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 2
    assert "contextrender token create" in refused.stderr
    assert "Traceback" not in refused.stderr
    token = new_token(data, "laptop")
    with served(data, "--host", "0.0.0.0") as running:
        for path in ("/metrics", "/docs", "/openapi.json", "/v1/models", "/s/key/v1/models"):
            assert ask(running, "GET", path).status_code == 401, path
            assert ask(running, "GET", path, headers={"authorization": "Bearer sk-provider"}).status_code == 401, path
        assert ask(running, "POST", "/walker/sessions", json={}).status_code == 401
        shown = {"authorization": f"Bearer {token}"}
        assert ask(running, "GET", "/metrics", headers=shown).status_code == 200
        assert ask(running, "GET", "/metrics", headers={"x-contextrender-token": token}).status_code == 200
        assert ask(running, "POST", "/walker/sessions", json={}, headers=shown).status_code == 200
        assert ask(running, "GET", "/healthz", headers={"host": "example.com"}).status_code == 200


def test_a_secret_survives_a_restart(tmp_path: Path) -> None:
    data, account = tmp_path / "data", {"email": "a@example.com", "password": "a long one"}
    with served(data, "--registration") as running:
        ask(running, "POST", "/user/register", json=account)
        token = ask(running, "POST", "/user/login", json=account).json()["token"]
    with served(data) as running, client(running, data, token) as mine:
        assert mine.sessions()["sessions"] == []
    assert "TOKEN_SECRET" not in os.environ
