"""`contextrender.wrap` on the real openai SDK, against a provider that answers what a test says."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI

import contextrender
from contextrender.errors import InputError
from contextrender.legality import violations
from tests.clients.model import Handler, Request
from tests.proxy.provider import Provider, chat_run, provider

BUDGET = 2_000
Send = Callable[[Any, list[Any]], str]


def answer(handler: Handler, request: Request) -> None:
    """"ok", streamed where that was asked for."""
    said = {"id": "c", "created": 1, "model": "m", "choices": [{"index": 0, "finish_reason": "stop"}]}
    if request.body.get("stream"):
        said |= {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "ok"}}]}
        body = f"data: {json.dumps(said)}\n\ndata: [DONE]\n\n".encode()
        kind = "text/event-stream"
    else:
        said |= {"object": "chat.completion"}
        said["choices"][0]["message"] = {"role": "assistant", "content": "ok"}  # type: ignore[index]
        body, kind = json.dumps(said).encode(), "application/json"
    handler.send_response(200)
    handler.send_header("content-type", kind)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def whole(client: OpenAI, messages: list[Any]) -> str:
    return str(client.chat.completions.create(model="m", messages=messages).choices[0].message.content)


def streamed(client: OpenAI, messages: list[Any]) -> str:
    chunks = client.chat.completions.create(model="m", messages=messages, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


def awaited(client: OpenAI, messages: list[Any]) -> str:
    async def send() -> str:
        async with AsyncOpenAI(base_url=client.base_url, api_key="x", max_retries=0) as plain:
            wrapped = contextrender.wrap(plain, budget=BUDGET, embedder="hash")
            done = await wrapped.chat.completions.create(model="m", messages=messages)
            return str(done.choices[0].message.content)

    return asyncio.run(send())


def opened(found: Provider) -> OpenAI:
    return OpenAI(base_url=f"{found.url}/v1", api_key="x", max_retries=0)


@pytest.mark.parametrize("send", [whole, streamed, awaited])
def test_requests_carry_what_is_rendered(send: Send) -> None:
    run = chat_run(10)
    given = json.loads(json.dumps(run))
    with provider(answer) as found:
        client = contextrender.wrap(opened(found), budget=BUDGET, embedder="hash")
        assert send(client, run) == "ok"
        sent = found.last.body["messages"]
    assert run == given
    assert sent[0] == run[0]
    assert violations(run, sent) == []
    assert len(sent) < len(run)
    assert found.last.headers["authorization"] == "Bearer x"
    session = contextrender.Session("default", BUDGET, "hash")
    assert sent[1:] == session.sync(run[1:]).messages


def test_a_request_that_fits_is_sent_as_it_is_and_other_calls_too() -> None:
    run = chat_run(1)
    with provider(answer) as found:
        client = contextrender.wrap(opened(found), budget=BUDGET, embedder="hash")
        whole(client, run)
        whole(opened(found), run)
        assert found.requests[0].raw == found.requests[1].raw


def test_turns_of_one_conversation_go_on_with_its_session() -> None:
    run, other = chat_run(12), chat_run(12, key="other")
    with provider(answer) as found:
        client = contextrender.wrap(opened(found), budget=BUDGET, embedder="hash")
        sessions = contextrender.Session("default", BUDGET, "hash"), contextrender.Session("default", BUDGET, "hash")
        for length in range(2, len(run) + 1, 2):
            for messages, session in zip((run, other), sessions, strict=True):
                whole(client, messages[:length])
                assert found.last.body["messages"][1:] == session.sync(messages[1:length]).messages


def test_what_we_do_not_understand_goes_out_as_it_is() -> None:
    odd = [{"role": "user", "content": "x"}, {"role": "martian", "content": 7}]
    with provider(answer) as found:
        client = contextrender.wrap(opened(found), budget=BUDGET, embedder="hash")
        assert whole(client, odd) == "ok"
        assert found.last.body["messages"] == odd


def test_what_cannot_be_wrapped_is_said() -> None:
    with pytest.raises(InputError, match="openai or anthropic"):
        contextrender.wrap(object())
    with OpenAI(api_key="x") as client, pytest.raises(InputError, match="budget"):
        contextrender.wrap(client, budget=0)
