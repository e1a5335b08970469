"""Text embeddings by name or by callable, each text embedded once (paper §3.3, App. A.3).

An embedder is any callable `list[str] -> array (n, d)`. Vectors are brought to unit length here; a zero vector stays
zero. Names: `wordllama` (static local model, 256-d, offline), `hash` (CRC-32 feature hashing, 1024-d) and
`litellm:<model>` (an API, for instance the paper's text-embedding-3-small).
"""

import hashlib
import importlib.util
import re
import zlib
from collections.abc import Callable, MutableMapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from contextrender.endpoint import Endpoint, describe, from_environment, import_litellm
from contextrender.errors import InputError, UnavailableError

Vector = npt.NDArray[Any]
Embedder = Callable[[list[str]], Any]

RESULT_CHARS = 8_000
"""A tool result is embedded by its first 8,000 characters (App. A.3)."""
TASK_CHARS = 2_000
"""The task is embedded by its first 2,000 characters (App. A.3)."""

_WORD = re.compile(r"[A-Za-z0-9_]+")
_HASH_DIMENSIONS = 1024


def embed_hash(texts: list[str]) -> Vector:
    """Feature hashing: v[crc32(word) mod 1024] ± 1 by bit 31, then sign(v)·ln(1+|v|), unit length, float64."""
    vectors = np.zeros((len(texts), _HASH_DIMENSIONS))
    for row, text in zip(vectors, texts, strict=True):
        hashes = np.fromiter((zlib.crc32(word.encode()) for word in _WORD.findall(text.lower())), np.uint32)
        signs = np.where(hashes >> 31, 1.0, -1.0)
        np.add.at(row, hashes % _HASH_DIMENSIONS, signs)
    return _unit(np.sign(vectors) * np.log1p(np.abs(vectors)))


def _unit(vectors: Vector) -> Vector:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: Vector = vectors / np.where(norms == 0, 1, norms)
    return unit


def _wordllama() -> Embedder:
    spec = importlib.util.find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise UnavailableError("the embedder 'wordllama' needs the package wordllama: pip install wordllama")
    from wordllama import WordLlama  # heavy: only when this embedder is used

    folder = Path(spec.submodule_search_locations[0])
    model = WordLlama.load(cache_dir=folder, disable_download=True)
    return lambda texts: np.asarray(model.embed(texts), dtype=np.float32)


def _litellm(model: str) -> Embedder:
    endpoint = from_environment(model=model) or Endpoint(model)

    def embed(texts: list[str]) -> Vector:
        litellm = import_litellm()
        asked = {"model": model, "input": [text or " " for text in texts], **endpoint.options()}
        try:
            answer = endpoint.attempt(lambda: litellm.embedding(**asked))
        except Exception as error:
            raise UnavailableError(f"the embedding model {model!r} did not answer: {describe(error)}") from error
        return np.asarray([item["embedding"] for item in answer.data], dtype=np.float32)

    return embed


NAMES = "wordllama, hash, litellm:<model>, or a callable list[str] -> array (n, d)"


@cache
def embedder_by_name(name: str) -> Embedder:
    """The embedder with this name, made once a process. Raises InputError for a name that means nothing."""
    if name == "hash":
        return embed_hash
    if name == "wordllama":
        return _wordllama()
    if name.startswith("litellm:") and len(name) > len("litellm:"):
        return _litellm(name.removeprefix("litellm:"))
    raise InputError(f"unknown embedder {name!r}", "embedder", NAMES)


def content_key(text: str) -> bytes:
    """A 16-byte digest that names a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Embeddings:
    """Unit vectors of texts, each text given to the embedder once.

    `cache` may be any mutable mapping from `content_key` to vector (a dict here, a table in the server).
    """

    def __init__(self, embedder: str | Embedder, cache: MutableMapping[bytes, Vector] | None = None) -> None:
        self.name = embedder if isinstance(embedder, str) else getattr(embedder, "__name__", "callable")
        if isinstance(embedder, str) and not (embedder in ("hash", "wordllama") or embedder.startswith("litellm:")):
            raise InputError(f"unknown embedder {embedder!r}", "embedder", NAMES)
        self._embedder = embedder
        self._cache: MutableMapping[bytes, Vector] = {} if cache is None else cache

    def __call__(self, texts: Sequence[str]) -> list[Vector]:
        """A unit vector for each text, in order; texts not seen before are embedded in one batch."""
        keys = [content_key(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._cache}
        if new:
            embed = embedder_by_name(self._embedder) if isinstance(self._embedder, str) else self._embedder
            vectors = np.asarray(embed([text.encode("utf-8", "replace").decode() for text in new.values()]))
            if vectors.ndim != 2 or len(vectors) != len(new):
                raise InputError(
                    f"the embedder returned shape {vectors.shape} for {len(new)} texts", "embedder", "shape (n, d)"
                )
            if not np.isfinite(vectors).all():
                raise InputError("the embedder returned numbers that are not finite", "embedder", "finite numbers")
            self._cache.update(zip(new, _unit(vectors), strict=True))
        return [self._cache[key] for key in keys]
