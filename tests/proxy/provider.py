"""A provider that answers as a test says, byte for byte, and the real proxy in front of it."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.clients.model import Handler, Json, Request, Server, decoded_body

COMMAND = Path(sys.executable).parent / "contextrender"


@dataclass
class Provider:
    """Answers every request with what `answers` writes into the connection; keeps what came."""

    answers: Callable[[Handler, Request], None]
    requests: list[Request] = field(default_factory=list)
    url: str = ""

    @property
    def last(self) -> Request:
        """The newest request."""
        return self.requests[-1]


@contextmanager
def provider(answers: Callable[[Handler, Request], None]) -> Iterator[Provider]:
    """A provider on a free port of loopback."""
    made = Provider(answers)

    class Answering(Handler):
        def answer(self) -> None:
            raw = self.read_body()
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = decoded_body(raw, headers)
            request = Request(self.command, self.path, headers, raw, body, "", time.monotonic())
            made.requests.append(request)
            made.answers(self, request)

        do_GET = do_POST = do_DELETE = answer

    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    made.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = Server(listener, Answering)
    server.start()
    try:
        yield made
    finally:
        server.stop()


@dataclass
class Running:
    """A proxy process. `log` is all it has said so far."""

    port: int
    process: subprocess.Popen[str]
    said: list[str]

    @property
    def log(self) -> str:
        """What it wrote to its standard error."""
        return "".join(self.said)

    @contextmanager
    def connected(self, timeout: float = 30) -> Iterator[http.client.HTTPConnection]:
        """A connection to it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            yield connection
        finally:
            connection.close()

    def send(self, path: str, body: Any, headers: Json | None = None, method: str = "POST") -> "Answer":
        """One request on a connection of its own; `body` is JSON or bytes."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        with self.connected() as connection:
            connection.request(method, path, raw, {"content-type": "application/json"} | (headers or {}))
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())


@dataclass(frozen=True, slots=True)
class Answer:
    """What the client got; header names in lower case."""

    status: int
    headers: Json
    raw: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.raw)


@contextmanager
def proxy(upstream: str, *options: str) -> Iterator[Running]:
    """`contextrender proxy` as its users start it, but patient: a busy machine must not change what is sent."""
    with TemporaryDirectory() as folder:
        argv = ["proxy", "--upstream", upstream, "--port", "0", "--render-ms", "10000", "--data", folder, *options]
        with started(*argv) as running:
            yield running


@contextmanager
def started(*argv: str, env: Json | None = None) -> Iterator[Running]:
    """A command of ours that serves; it must end well when it is told to end, unless the test has killed it."""
    with subprocess.Popen(
        [str(COMMAND), *argv], stderr=subprocess.PIPE, text=True, env=os.environ | (env or {})
    ) as process:
        assert process.stderr
        said = [process.stderr.readline()]
        found = re.search(r"on http://[^ ]*:(\d+)", said[0])
        assert found, said[0] + process.stderr.read()
        reader = threading.Thread(target=lambda: said.extend(process.stderr or ()), daemon=True)
        reader.start()
        try:
            yield Running(int(found[1]), process, said)
        finally:
            killed = process.poll() is not None
            process.terminate()
            ended = process.wait(40)
            reader.join(5)
        assert killed or ended == 0, "".join(said)


def chat_run(steps: int, words: int = 400, key: str = "run") -> list[Json]:
    """A chat-completions run: the task, then calls and results of about `words` words, each with a name of its own."""
    messages: list[Json] = [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": f"Look up all orders of {key}, then refund the first."},
    ]
    for number in range(steps):
        call_id = f"call_{key}_{number}"
        arguments = json.dumps({"page": number})
        call = {"id": call_id, "type": "function", "function": {"name": "list_orders", "arguments": arguments}}
        text = f"ORDER_{key}_{number} " + " ".join(f"item{number * words + word}" for word in range(words))
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call_id, "content": text},
        ]
    return messages


TOOLS = [{"type": "function", "function": {"name": "list_orders", "parameters": {"type": "object"}}}]


def chat(messages: Sequence[Json], **fields: Any) -> Json:
    """A request."""
    return {"model": "m", "messages": list(messages), "tools": TOOLS, **fields}
