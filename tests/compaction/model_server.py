"""An OpenAI-compatible server on 127.0.0.1 that answers by script; it records what it was asked."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = str | int | Callable[[dict[str, Any]], str]
"""What to answer: a text, a status to fail with, a function of the request, or one of HANG, CUT, HALF."""
HANG, CUT, HALF = "<hang>", "<cut>", "<half>"


class ModelServer:
    """Plays its script, one step a request; the last step is repeated."""

    def __init__(self) -> None:
        self.script: list[Step] = ["hello"]
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.url = ""
        self.closing = threading.Event()

    def step(self) -> Step:
        return self.script[min(len(self.requests), len(self.script)) - 1]


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            server.requests.append(body)
            server.keys.append(self.headers.get("authorization", ""))
            step = server.step()
            if "input" in body:
                vectors = [[1.0, float(i)] for i in range(len(body["input"]))]
                data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
                return self._json(200, {"object": "list", "model": body["model"], "data": data,
                                        "usage": {"prompt_tokens": 1, "total_tokens": 1}})  # fmt: skip
            if step == HANG:
                server.closing.wait(20)
                self.close_connection = True
                return None
            if step == CUT:
                self.close_connection = True
                return None
            if isinstance(step, int):
                return self._json(step, {"error": {"message": "secret-detail", "type": "x", "code": None}})
            text = step(body) if callable(step) else step
            answer = {
                "id": "1", "object": "chat.completion", "created": int(time.time()), "model": body["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
                "usage": {"prompt_tokens": 70, "completion_tokens": 7, "total_tokens": 77},
            }  # fmt: skip
            return self._json(200, answer, half=step == HALF)

        def _json(self, status: int, answer: dict[str, Any], half: bool = False) -> None:
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if half else data)
            self.close_connection = half

    return Handler


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """A running server on a free port."""
    server = ModelServer()
    listening = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    listening.daemon_threads = True
    server.url = f"http://127.0.0.1:{listening.server_port}/v1"
    thread = threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        listening.shutdown()
        listening.server_close()
        thread.join(5)
