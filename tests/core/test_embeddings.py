"""Embedders: the exact hash embedder, unit length, each text embedded once, an API over real HTTP, clear errors."""

import json
import math
import os
import re
import subprocess
import sys
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrender.embeddings import Embeddings, embed_hash
from contextrender.endpoint import default_embedder
from contextrender.errors import InputError


def hash_word_for_word(text: str) -> list[float]:
    """The definition, with plain numbers."""
    vector = [0.0] * 1024
    for word in re.findall(r"[A-Za-z0-9_]+", text.lower()):
        h = zlib.crc32(word.encode("utf-8"))
        vector[h % 1024] += 1 if h >> 31 & 1 else -1
    vector = [math.copysign(math.log(1 + abs(x)), x) for x in vector]
    norm = math.sqrt(sum(x * x for x in vector))
    return [x / norm for x in vector] if norm else vector


@given(st.text(st.sampled_from("abAB01_ .é-"), max_size=200))
@settings(max_examples=50, deadline=None)
def test_hash_follows_its_definition(text: str) -> None:
    (vector,) = embed_hash([text])
    assert vector.dtype == np.float64
    assert vector.tolist() == pytest.approx(hash_word_for_word(text), abs=1e-12)


def test_wordllama_works_offline_and_gives_unit_vectors() -> None:
    near, like, far = Embeddings("wordllama")(["a payment request", "request a payment", "tectonic plates"])
    assert np.linalg.norm(near) == pytest.approx(1, abs=1e-5)
    assert near @ like > near @ far


def test_a_text_is_given_to_the_embedder_once() -> None:
    seen: list[str] = []

    def embed(texts: list[str]) -> Any:
        seen.extend(texts)
        return np.ones((len(texts), 3))

    embeddings = Embeddings(embed)
    embeddings(["a", "b", "a"])
    embeddings(["b", "c"])
    assert seen == ["a", "b", "c"]


def test_a_zero_vector_stays_zero_and_others_become_unit() -> None:
    zero, other = Embeddings(lambda texts: [[0.0, 0.0], [3.0, 4.0]])(["a", "b"])
    assert (zero.tolist(), other.tolist()) == ([0, 0], [0.6, 0.8])


@pytest.mark.parametrize("answer", [[[1.0, 2.0]], [1.0, 2.0], [[float("nan"), 1], [1, 1]]])
def test_a_bad_answer_of_an_embedder_is_refused(answer: Any) -> None:
    with pytest.raises(InputError, match="embedder"):
        Embeddings(lambda texts: answer)(["a", "b"])


@pytest.mark.parametrize("name", ["nope", "litellm:", ""])
def test_an_unknown_name_lists_what_there_is(name: str) -> None:
    with pytest.raises(InputError, match="wordllama"):
        Embeddings(name)(["a"])


class EmbeddingServer(BaseHTTPRequestHandler):
    """An OpenAI-compatible embeddings endpoint: the vector of a text is [its length, 1]."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = [{"object": "embedding", "index": i, "embedding": [len(t), 1.0]} for i, t in enumerate(asked["input"])]
        body = json.dumps({"object": "list", "model": asked["model"], "data": data, "usage": {}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Keep the test's output quiet."""


def test_litellm_asks_an_openai_compatible_server_over_http() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), EmbeddingServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    code = (
        "from contextrender.embeddings import Embeddings\n"
        "a, b = Embeddings('litellm:text-embedding-3-small')(['ab', 'abcd'])\n"
        "print(round(float(a[0] / a[1]), 4), round(float(b[0] / b[1]), 4))"
    )
    base = f"http://127.0.0.1:{server.server_port}/v1"
    environment = {**os.environ, "CTXGRAPH_API_BASE": base, "CTXGRAPH_API_KEY": "test"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    server.shutdown()
    server.server_close()
    assert done.stdout.strip() == "2.0 4.0", done.stderr


def test_the_default_embedder_is_the_one_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CTXGRAPH_EMBED_MODEL", raising=False)
    assert default_embedder() == "wordllama"
    monkeypatch.setenv("CTXGRAPH_EMBED_MODEL", "text-embedding-3-small")
    assert default_embedder() == "litellm:text-embedding-3-small"
