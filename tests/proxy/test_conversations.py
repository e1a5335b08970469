"""Whole conversations through the proxy process: concurrency, hang-ups, slow renders, what is counted."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from contextrender.legality import violations
from contextrender.proxy.app import Proxy
from contextrender.proxy.keeper import Keeper
from contextrender.proxy.settings import ProxySettings, Upstreams
from tests.clients.model import Handler, Json, Request
from tests.proxy.memory import MemorySessions
from tests.proxy.provider import Provider, Running, chat, chat_run, provider, proxy

PATH = "/v1/chat/completions"
USAGE = {"prompt_tokens": 900, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 640}}


def says(handler: Handler, request: Request) -> None:
    """One call of a tool, named after the request's last message."""
    last = request.body["messages"][-1]["content"][:30]
    message = {"role": "assistant", "content": f"I saw {last}"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    handler.send_json({"object": "chat.completion", "model": "m-1", "choices": [choice], "usage": USAGE})


def streams(handler: Handler, request: Request) -> None:
    """Words, slowly."""

    def events() -> Iterator[bytes]:
        for word in ("I ", "am ", "still ", "talking"):
            delta = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": word}}]}
            yield b"data: " + json.dumps(delta).encode() + b"\n\n"
            time.sleep(0.2)
        yield b"data: [DONE]\n\n"

    handler.send_events(events())


def test_concurrent_conversations_do_not_mix() -> None:
    """Eight agents at once, each with its own opening; and two requests of one conversation at the same time."""
    failures: list[str] = []

    def converse(upstream: Provider, running: Running, name: str) -> None:
        run = chat_run(14, key=name)
        for length in range(4, len(run) + 1, 2):
            answer = running.send(PATH, chat(run[:length], user=name))
            if answer.status != 200:
                failures.append(f"{name}: {answer.status}")

    with provider(says) as upstream, proxy(upstream.url, "--budget", "3000") as running:
        names = [f"agent{number}" for number in range(4)] * 2  # each twice: a client's retry beside its first try
        threads = [threading.Thread(target=converse, args=(upstream, running, name)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(upstream.requests) == len(names) * 14
        for request in upstream.requests:
            name = request.body["user"]
            whole = chat_run(14, key=name)
            assert violations(whole, request.body["messages"], ["altered results"]) == []
            others = {other for other in names if other != name}
            assert not any(f"ORDER_{other}_" in request.raw.decode() for other in others)
        assert any(len(request.body["messages"]) < 30 for request in upstream.requests)


def test_what_was_said_before_a_hang_up_is_kept() -> None:
    """The listener heard half of the answer when the client left: the conversation has it, as a branch of its own."""
    sessions = MemorySessions("default", 3_000, "hash")
    keeper = Keeper(sessions)
    settings = ProxySettings(render_seconds=5)

    with provider(streams) as upstream:
        app = Proxy(replace(settings, upstreams=Upstreams.of(upstream.url)), keeper)

        async def converse() -> None:
            body = json.dumps(chat(chat_run(3), stream=True)).encode()
            arriving: asyncio.Queue[Json] = asyncio.Queue()
            arriving.put_nowait({"type": "http.request", "body": body, "more_body": False})

            async def send(message: Any) -> None:
                if b"still" in message.get("body", b""):
                    arriving.put_nowait({"type": "http.disconnect"})

            scope = {"type": "http", "method": "POST", "path": PATH, "headers": [], "query_string": b""}
            await app(scope, arriving.get, send)
            await app.aclose()

        asyncio.run(converse())
    held = next(iter(sessions.held.values()))
    assert [branch.entries[-1].text for branch in held.branches] == ["I am still "]
    assert len(held.branches[0]) == len(chat_run(3)) - 1 + 1, "the system prompt is none of it"


def test_a_slow_render_sends_the_original_bytes_and_says_so() -> None:
    with provider(says) as upstream, proxy(upstream.url, "--budget", "3000", "--render-ms", "1") as running:
        raw = json.dumps(chat(chat_run(400, 300))).encode()
        answer = running.send(PATH, raw)
        assert answer.status == 200
        assert upstream.last.raw == raw
        assert (answer.headers["x-contextrender"], answer.headers["x-contextrender-reason"]) == ("passed", "slow")
        metrics = running.send("/metrics", b"", method="GET").raw.decode()
        assert 'contextrender_proxy_requests_total{outcome="passed",reason="slow",wire="chat"} 1.0' in metrics


def test_the_answers_headers_tell_what_was_done() -> None:
    with provider(says) as upstream, proxy(upstream.url, "--budget", "3000") as running:
        told: list[Any] = []
        run = chat_run(12)
        for length in range(4, len(run) + 1, 2):
            answer = running.send(PATH, chat(run[:length]))
            told.append(answer.headers)
            assert (len(upstream.last.body["messages"]) < length) == (answer.headers["x-contextrender"] == "rendered")
        assert told[0]["x-contextrender-reason"] == "whole"
        assert told[-1]["x-contextrender"] == "rendered"
        assert len({headers["x-contextrender-session"] for headers in told}) == 1
        assert len({headers["x-contextrender-snapshot"] for headers in told}) == len(told)
