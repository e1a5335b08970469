"""Whatever the provider answers, the client gets what it would get without the proxy, or an error of its own kind."""

import http.client
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.model import Handler, Request
from tests.proxy.provider import Provider, Running, chat, chat_run, provider, proxy

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages?beta=true"}
LISTS = {"chat": "messages", "responses": "input", "messages": "messages"}
SAID: dict[str, dict[str, Any]] = {
    "chat": {"choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]},
    "responses": {"object": "response", "status": "completed", "output": []},
    "messages": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "ok"}]},
}


@pytest.fixture(scope="module")
def run() -> Iterator[tuple[Provider, Running]]:
    """One proxy for the module; each test says how the provider answers."""
    with provider(lambda handler, request: None) as upstream, proxy(upstream.url, "--budget", "3000") as running:
        yield upstream, running


def request_of(wire: str, **fields: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, LISTS[wire]: [{"role": "user", "content": "hello"}], **fields}


def asked(connection: http.client.HTTPConnection, body: Any) -> http.client.HTTPResponse:
    connection.request("POST", PATHS["chat"], json.dumps(body))
    return connection.getresponse()


def raw_answer(status: int, raw: bytes, headers: dict[str, str]) -> Any:
    def answer(handler: Handler, request: Request) -> None:
        handler.send_response_only(status)
        for name, value in {"content-length": str(len(raw)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(raw)

    return answer


@pytest.mark.parametrize("wire", PATHS)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 429, 500, 503, 529])
def test_errors_of_the_provider_pass_unchanged(run: tuple[Provider, Running], wire: str, status: int) -> None:
    upstream, running = run
    raw = b'{"error":  {"message": "no such model: m", "code": "x"}}'
    headers = {"content-type": "application/json", "retry-after": "7", "x-request-id": "req_1"}
    upstream.answers = raw_answer(status, raw, headers)
    answer = running.send(PATHS[wire], request_of(wire))
    assert (answer.status, answer.raw) == (status, raw)
    assert headers.items() <= answer.headers.items()


@pytest.mark.parametrize("wire", PATHS)
def test_headers_and_bytes_reach_the_provider(run: tuple[Provider, Running], wire: str) -> None:
    upstream, running = run
    upstream.answers = lambda handler, request: handler.send_json(SAID[wire])
    sent = json.dumps(request_of(wire), indent=3, ensure_ascii=False).encode()
    told = {"authorization": "Bearer secret-key", "anthropic-beta": "a,b", "x-own": "1", "x-contextrender-session": "s"}
    answer = running.send(PATHS[wire], sent, told)
    assert answer.json == SAID[wire]
    assert (upstream.last.path, upstream.last.raw) == (PATHS[wire], sent)
    assert {"authorization": "Bearer secret-key", "anthropic-beta": "a,b", "x-own": "1"}.items() <= (
        upstream.last.headers.items()
    )
    assert not [name for name in upstream.last.headers if name.startswith("x-contextrender")]
    assert answer.headers["x-contextrender"] == "passed"
    assert "secret-key" not in running.log


@pytest.mark.parametrize("wire", PATHS)
@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"{", b"null", b"[]", b"\xff\xfe", b"[" * 9000),
        *(b'{"messages": 3, "input": 3}', b'{"messages": [3], "input": [3]}'),
    ],
)
def test_what_is_no_request_passes_unchanged(run: tuple[Provider, Running], wire: str, raw: bytes) -> None:
    upstream, running = run
    upstream.answers = raw_answer(400, b"what the provider says", {})
    answer = running.send(PATHS[wire], raw)
    assert (answer.status, answer.raw) == (400, b"what the provider says")
    assert upstream.last.raw == raw
    assert answer.headers["x-contextrender"] == "passed"


@pytest.mark.parametrize("raw", [b"data: {\n\n", b"data: nothing\n\ndata: [1]\n\n", b"\x00\xff" * 99, b"event: x\n\n"])
@pytest.mark.parametrize("wire", PATHS)
def test_a_malformed_stream_passes_unchanged(run: tuple[Provider, Running], wire: str, raw: bytes) -> None:
    upstream, running = run
    upstream.answers = raw_answer(200, raw, {"content-type": "text/event-stream"})
    answer = running.send(PATHS[wire], request_of(wire, stream=True))
    assert (answer.status, answer.raw) == (200, raw)


def test_other_paths_pass(run: tuple[Provider, Running]) -> None:
    upstream, running = run
    upstream.answers = lambda handler, request: handler.send_json({"input_tokens": 3})
    assert running.send("/v1/models?limit=3", b"", method="GET").json == {"input_tokens": 3}
    assert (upstream.last.method, upstream.last.path) == ("GET", "/v1/models?limit=3")
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    assert running.send("/v1/messages/count_tokens", body).json == {"input_tokens": 3}
    assert running.send("/s/my%20run/v1/chat/completions", request_of("chat")).status == 200
    assert upstream.last.path == "/v1/chat/completions"
    assert running.send("/admin", b"", method="GET").status == 404


def test_a_foreign_host_header_is_refused(run: tuple[Provider, Running]) -> None:
    _, running = run
    answer = running.send("/v1/models", b"", {"host": "evil.example:80"}, "GET")
    assert answer.status == 403
    for name in ("localhost", f"127.0.0.1:{running.port}", "[::1]:80"):
        assert running.send("/healthz", b"", {"host": name}, "GET").json == {"status": "ok"}


def test_a_body_of_20_mb(run: tuple[Provider, Running]) -> None:
    upstream, running = run
    upstream.answers = lambda handler, request: handler.send_json(SAID["chat"])
    raw = json.dumps(chat([*chat_run(2), {"role": "user", "content": "x" * 20_000_000}])).encode()
    answer = running.send(PATHS["chat"], raw)
    assert answer.status == 200
    assert len(upstream.last.raw) >= 20_000_000


def test_a_body_over_the_limit_is_refused_in_the_clients_format() -> None:
    with provider(raw_answer(200, b"{}", {})) as upstream, proxy(upstream.url, "--max-body", "1") as running:
        raw = b'{"messages": "' + b"x" * (1 << 20) + b'"}'
        answer = running.send(PATHS["messages"], raw)
        assert answer.status == 413
        assert (answer.json["type"], answer.json["error"]["type"]) == ("error", "request_too_large")
        assert "--max-body" in answer.json["error"]["message"]
        assert upstream.requests == []
        assert running.send(PATHS["chat"], request_of("chat")).status == 200


def test_no_provider_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with proxy(f"http://127.0.0.1:{port}") as running:
        for wire, path in PATHS.items():
            answer = running.send(path, request_of(wire))
            assert answer.status == 502
            error = answer.json["error"]
            assert "no connection to 127.0.0.1" in error["message"]
            assert answer.json.get("type") == ("error" if wire == "messages" else None)


def test_a_cut_stream_is_seen_as_cut_and_what_came_before_arrives(run: tuple[Provider, Running]) -> None:
    upstream, running = run

    def cut(handler: Handler, request: Request) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"6\r\ndata: \r\n")
        handler.wfile.flush()
        handler.connection.shutdown(socket.SHUT_RDWR)

    upstream.answers = cut
    with running.connected() as connection, asked(connection, request_of("chat", stream=True)) as response:
        assert response.read1(100) == b"data: "
        with pytest.raises(http.client.IncompleteRead):
            response.read()
    assert running.send("/healthz", b"", method="GET").status == 200


def test_chunks_arrive_when_they_are_sent(run: tuple[Provider, Running]) -> None:
    upstream, running = run

    def slow(handler: Handler, request: Request) -> None:
        def events() -> Iterator[bytes]:
            for number in range(3):
                yield b"data: %d\n\n" % number
                time.sleep(0.3)

        handler.send_events(events())

    upstream.answers = slow
    with running.connected() as connection, asked(connection, request_of("chat", stream=True)) as response:
        began = time.monotonic()
        assert response.read1(100) == b"data: 0\n\n"
        first = time.monotonic() - began
        rest = b""
        while chunk := response.read1(100):
            rest += chunk
        assert rest == b"data: 1\n\ndata: 2\n\n"
        assert first < (time.monotonic() - began) / 2


def test_a_client_that_hangs_up_is_hung_up_on_upstream(run: tuple[Provider, Running]) -> None:
    upstream, running = run
    ended: list[bool] = []

    def endless(handler: Handler, request: Request) -> None:
        def events() -> Iterator[bytes]:
            for _ in range(400):
                yield b": wait\n\n"
                time.sleep(0.05)

        try:
            handler.send_events(events())
        except OSError:
            ended.append(True)

    upstream.answers = endless
    with running.connected() as connection, asked(connection, request_of("chat", stream=True)) as response:
        response.read1(10)
    until = time.monotonic() + 10
    while not ended and time.monotonic() < until:
        time.sleep(0.05)
    assert ended


def test_one_connection_serves_many_requests(run: tuple[Provider, Running]) -> None:
    upstream, running = run
    upstream.answers = lambda handler, request: handler.send_json(SAID["chat"])
    with running.connected() as connection:
        for _ in range(5):
            connection.request("POST", PATHS["chat"], json.dumps(request_of("chat")))
            assert json.loads(connection.getresponse().read()) == SAID["chat"]


def test_a_stop_lets_answers_in_flight_end() -> None:
    def slow(handler: Handler, request: Request) -> None:
        time.sleep(1.0)
        handler.send_json(SAID["chat"])

    with provider(slow) as upstream, proxy(upstream.url) as running, running.connected() as connection:
        connection.request("POST", PATHS["chat"], json.dumps(request_of("chat")))
        while not upstream.requests:
            time.sleep(0.02)
        running.process.terminate()
        assert json.loads(connection.getresponse().read()) == SAID["chat"]
        assert running.process.wait(20) == 0
