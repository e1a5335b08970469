"""A server that stands in for a model: it plays each task's scripted agent over chat completions, on loopback.

It knows a run by the request's `user` field, `<benchmark>/<task>/<anything>`. Its usage figures are real counts: input
tokens by the tokenizer, cached ones by the longest common prefix with the run's last request, in whole messages.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from contextrender.benchmarks.task import Benchmark, Message, Scripted
from contextrender.tokens import count_tokens
from contextrender.world.agent import Agent

MODEL = "scripted"


class _Play:
    """One run: its agent, and the last input."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.last: list[str] = []

    def answer(self, body: Mapping[str, Any]) -> Message:
        """The completion of a request."""
        dumped = [json.dumps(message, ensure_ascii=False) for message in body["messages"]]
        counts = [count_tokens(text) for text in dumped]
        same = next((i for i, (a, b) in enumerate(zip(self.last, dumped, strict=False)) if a != b), None)
        shared = min(len(self.last), len(dumped)) if same is None else same
        self.last = dumped
        said = self.agent.reply(body["messages"])
        reason = "tool_calls" if "tool_calls" in said else "stop"
        prompt, completion = sum(counts), count_tokens(json.dumps(said, ensure_ascii=False))
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": sum(counts[:shared])},
        }
        return {
            "id": "scripted",
            "object": "chat.completion",
            "created": 0,
            "model": MODEL,
            "choices": [{"index": 0, "message": said, "finish_reason": reason}],
            "usage": usage,
        }


@contextmanager
def serve(benchmark: Benchmark) -> Iterator[str]:
    """Run the server for a benchmark that has scripted agents; gives the base URL."""
    if not isinstance(benchmark, Scripted):
        raise TypeError(f"{benchmark.name} has no scripted agent")
    scripts: Scripted = benchmark
    plays: dict[str, _Play] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            run = body["user"]
            if run not in plays:
                plays[run] = _Play(Agent(scripts.program(run.split("/")[1])))
            data = json.dumps(plays[run].answer(body), ensure_ascii=False).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
