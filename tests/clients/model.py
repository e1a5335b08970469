"""A scripted model: a real HTTP server that speaks the three provider protocols, streamed and not.

It answers each request with the next step of the script whose key stands in the conversation, and keeps every
request as it came. Requests that carry no tools are asides (titles, topics, summaries) and take no step, unless
the script is for an agent with a text protocol.
"""

import gzip
import json
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Use:
    """A tool call: `args` as JSON, or `raw` text for a custom (free-form) tool."""

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the model: text, calls, or both. `tokens`: what it says the input was (else a quarter byte)."""

    text: str = ""
    uses: tuple[Use, ...] = ()
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived. `key` names the script that answered it, "" for an aside."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: Json
    key: str
    arrived: float

    @property
    def wire(self) -> str:
        """"chat", "responses", "messages" or ""."""
        path = self.path.split("?")[0]
        ends = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}
        return next((name for end, name in ends.items() if path.endswith(end)), "")

    @property
    def history(self) -> list[Json]:
        """The message list; a text input of the Responses API as one user message."""
        found: Any = self.body.get("messages") or self.body.get("input") or []
        return [{"role": "user", "content": found}] if isinstance(found, str) else list(found)


class ScriptedModel:
    """Serves `scripts` on a listening socket until the block ends.

    scripts: key -> steps. The key is a text that the task of the conversation holds; the last step is repeated.
    text_protocol: requests without tools are turns as well. aside(request) -> text answers the others.
    """

    def __init__(
        self,
        listener: socket.socket,
        scripts: Mapping[str, Sequence[Step]],
        text_protocol: bool = False,
        aside: Callable[[Json], str] = lambda body: "A short title",
        model: str = "mock-model",
    ) -> None:
        self.scripts = {key: list(steps) for key, steps in scripts.items()}
        self.text_protocol = text_protocol
        self.aside = aside
        self.model = model
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        self._server = Server(listener, _handler_of(self))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    @property
    def turns(self) -> list[Request]:
        """The requests that a script answered, in order."""
        return [request for request in self.requests if request.key]

    def taken(self, key: str) -> int:
        """How many requests the script of this key has answered."""
        return sum(request.key == key for request in self.requests)

    def answer(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Step:
        """Record a request; returns what to say."""
        body = decoded_body(raw, headers)
        text = json.dumps(body)
        with self._lock:
            key = next((key for key in self.scripts if key in text), "")
            if not (body.get("tools") or self.text_protocol):
                key = ""
            at = self.taken(key)
            self.requests.append(Request(method, path, dict(headers), raw, body, key, time.monotonic()))
        if not key:
            return Step(self.aside(body))
        steps = self.scripts[key]
        return steps[min(at, len(steps) - 1)]

    def note(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> None:
        """Record a request that is no turn."""
        with self._lock:
            body = decoded_body(raw, headers)
            self.requests.append(Request(method, path, dict(headers), raw, body, "", time.monotonic()))

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._server.stop()


class Server(ThreadingHTTPServer):
    """A threading server on a socket that listens already."""

    daemon_threads = True

    def __init__(self, listener: socket.socket, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(listener.getsockname(), handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error of the server."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.shutdown()
        self._thread.join(5)
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    """HTTP/1.1 with bodies of known length or in chunks, and answers in JSON or as server-sent events."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def read_body(self) -> bytes:
        """The request's body as sent."""
        if "chunked" not in (self.headers.get("transfer-encoding") or "").lower():
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def send_json(self, body: Json, status: int = 200) -> None:
        """A JSON answer."""
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def send_chunks(self, chunks: Iterator[bytes]) -> None:
        """A body in chunks, each sent at once."""
        for chunk in chunks:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def send_events(self, events: Iterator[bytes]) -> None:
        """An event stream."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.send_chunks(events)


def _handler_of(model: ScriptedModel) -> type[Handler]:
    class ModelHandler(Handler):
        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            model.note("GET", self.path, dict(self.headers.items()), b"")
            if "/models" in self.path:
                self.send_json(_models(model.model))
            else:
                self.send_json({"error": {"message": f"not found: {self.path}"}}, 404)

        def do_POST(self) -> None:
            raw = self.read_body()
            headers = dict(self.headers.items())
            path = self.path.split("?")[0]
            for end, write in (("/chat/completions", _chat), ("/responses", _responses), ("/messages", _messages)):
                if path.endswith(end):
                    step = model.answer("POST", self.path, headers, raw)
                    body = decoded_body(raw, headers)
                    whole, events = write(step, body, len(raw) // 4 if step.tokens is None else step.tokens)
                    if body.get("stream"):
                        self.send_events(events)
                    else:
                        self.send_json(whole)
                    return
            model.note("POST", self.path, headers, raw)
            if path.endswith("/count_tokens"):
                self.send_json({"input_tokens": len(raw) // 4})
            else:
                self.send_json({"error": {"message": f"not found: {path}"}}, 404)

    return ModelHandler


def decoded_body(raw: bytes, headers: Mapping[str, str]) -> Json:
    encoding = {name.lower(): value for name, value in headers.items()}.get("content-encoding", "")
    if encoding == "gzip":
        raw = gzip.decompress(raw)
    elif encoding:
        return {"undecoded": encoding}
    try:
        body = json.loads(raw) if raw else {}
    except (ValueError, RecursionError):
        return {"undecoded": "not JSON"}
    return body if isinstance(body, dict) else {"undecoded": "no object"}


def _models(name: str) -> Json:
    model = {"id": name, "object": "model", "created": 1, "owned_by": "mock", "context_length": 128_000}
    anthropic = {"type": "model", "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
    return {"object": "list", "data": [model | anthropic], "models": [], "has_more": False}


def _short_id(prefix: str) -> str:
    return prefix + uuid.uuid4().hex[:16]


def _event(data: Json | str, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    text = data if isinstance(data, str) else json.dumps(data)
    return f"{head}data: {text}\n\n".encode()


def _chat(step: Step, body: Json, tokens: int) -> tuple[Json, Iterator[bytes]]:
    usage = {"prompt_tokens": tokens, "completion_tokens": 12, "total_tokens": tokens + 12}
    usage["prompt_tokens_details"] = {"cached_tokens": 0}  # type: ignore[assignment]
    head = {"id": _short_id("chatcmpl-"), "created": int(time.time()), "model": body.get("model")}
    calls: list[Json] = [
        {
            "id": _short_id("call_"),
            "type": "function",
            "function": {"name": use.tool, "arguments": json.dumps(dict(use.args))},
        }
        for use in step.uses
    ]
    finish = "tool_calls" if calls else "stop"
    message: Json = {"role": "assistant", "content": step.text or None}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": finish}
    whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}

    def chunk(delta: Json, finish: str | None = None) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return _event({**head, "object": "chat.completion.chunk", "choices": choices})

    def events() -> Iterator[bytes]:
        yield chunk({"role": "assistant", "content": ""})
        for start in range(0, len(step.text), 40):
            yield chunk({"content": step.text[start : start + 40]})
        for index, call in enumerate(calls):
            text = call["function"]["arguments"]
            half = len(text) // 2
            first = {"name": call["function"]["name"], "arguments": text[:half]}
            yield chunk({"tool_calls": [{**call, "index": index, "function": first}]})
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": text[half:]}}]})
        yield chunk({}, finish)
        yield _event({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage})
        yield _event("[DONE]")

    return whole, events()


def _responses(step: Step, body: Json, tokens: int) -> tuple[Json, Iterator[bytes]]:
    output: list[Json] = []
    if step.text:
        content = [{"type": "output_text", "text": step.text, "annotations": []}]
        item = {"type": "message", "id": _short_id("msg_"), "role": "assistant", "status": "completed"}
        output.append({**item, "content": content})
    for use in step.uses:
        item = {"call_id": _short_id("call_"), "name": use.tool, "status": "completed"}
        if use.raw is not None:
            output.append({"type": "custom_tool_call", "id": _short_id("ctc_"), **item, "input": use.raw})
        else:
            arguments = json.dumps(dict(use.args))
            output.append({"type": "function_call", "id": _short_id("fc_"), **item, "arguments": arguments})
    whole: Json = {
        "id": _short_id("resp_"),
        "object": "response",
        "created_at": int(time.time()),
        "status": "completed",
        "model": body.get("model"),
        "output": output,
        "usage": {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 12,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens + 12,
        },
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
    }
    text_of = {"message": "content", "function_call": "arguments", "custom_tool_call": "input"}

    def events() -> Iterator[bytes]:
        numbers = iter(range(10_000))

        def event(kind: str, **data: Any) -> bytes:
            return _event({"type": kind, "sequence_number": next(numbers), **data}, kind)

        yield event("response.created", response={**whole, "status": "in_progress", "output": [], "usage": None})
        for index, item in enumerate(output):
            field_name = text_of[item["type"]]
            empty: Any = [] if field_name == "content" else ""
            opened = {**item, "status": "in_progress", field_name: empty}
            yield event("response.output_item.added", output_index=index, item=opened)
            at: Json = {"item_id": item["id"], "output_index": index}
            if item["type"] == "message":
                part = item["content"][0]
                at["content_index"] = 0
                yield event("response.content_part.added", **at, part={**part, "text": ""})
                yield event("response.output_text.delta", **at, delta=part["text"])
                yield event("response.output_text.done", **at, text=part["text"])
                yield event("response.content_part.done", **at, part=part)
            elif item["type"] == "function_call":
                yield event("response.function_call_arguments.delta", **at, delta=item["arguments"])
                yield event("response.function_call_arguments.done", **at, arguments=item["arguments"])
            else:
                yield event("response.custom_tool_call_input.delta", **at, delta=item["input"])
                yield event("response.custom_tool_call_input.done", **at, input=item["input"])
            yield event("response.output_item.done", output_index=index, item=item)
        yield event("response.completed", response=whole)

    return whole, events()


def _messages(step: Step, body: Json, tokens: int) -> tuple[Json, Iterator[bytes]]:
    content: list[Json] = [{"type": "text", "text": step.text}] if step.text else []
    for use in step.uses:
        content.append({"type": "tool_use", "id": _short_id("toolu_"), "name": use.tool, "input": dict(use.args)})
    usage = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    whole: Json = {
        "id": _short_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": content,
        "stop_reason": "tool_use" if step.uses else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": tokens, "output_tokens": 12, **usage},
    }

    def events() -> Iterator[bytes]:
        def event(kind: str, **data: Any) -> bytes:
            return _event({"type": kind, **data}, kind)

        opened = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
        yield event("message_start", message=opened)
        for index, block in enumerate(content):
            if block["type"] == "text":
                yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
                delta = {"type": "text_delta", "text": block["text"]}
                yield event("content_block_delta", index=index, delta=delta)
            else:
                yield event("content_block_start", index=index, content_block={**block, "input": {}})
                text = json.dumps(block["input"])
                for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
                    delta = {"type": "input_json_delta", "partial_json": piece}
                    yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield event("message_delta", delta=stop, usage={"output_tokens": 12})
        yield event("message_stop")

    return whole, events()
