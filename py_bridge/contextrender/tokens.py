"""Token counts (design: Tok; paper App. A.4), offline.

tok(s) = number of tiktoken tokens, special tokens read as plain text. The vocabulary files come from litellm's
wheel, which is found without importing it, so nothing is downloaded.
"""

import importlib.util
import os
from functools import cache
from pathlib import Path

import tiktoken

from contextrender.errors import UnavailableError
from contextrender.events import Event

DEFAULT_ENCODING = "o200k_base"
ITEM_OVERHEAD = 4
"""Tokens charged for the frame of a message, a tool call or a tool result."""
_SAFE_CHARS = 100_000


def _use_bundled_vocabulary() -> None:
    if os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR"):
        return
    spec = importlib.util.find_spec("litellm")
    if spec and spec.submodule_search_locations:
        folder = Path(spec.submodule_search_locations[0]) / "litellm_core_utils" / "tokenizers"
        if folder.is_dir():
            os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)


def encoding_name(model: str | None) -> str:
    """The encoding of a model by tiktoken's own table; `o200k_base` for a model it does not know, or none."""
    if not model:
        return DEFAULT_ENCODING
    try:
        return tiktoken.encoding_name_for_model(model.rsplit("/", 1)[-1])
    except KeyError:
        return DEFAULT_ENCODING


@cache
def _encoding(name: str) -> tiktoken.Encoding:
    _use_bundled_vocabulary()
    try:
        return tiktoken.get_encoding(name)
    except Exception as error:
        raise UnavailableError(
            f"the tiktoken vocabulary {name!r} could not be loaded ({error}); install litellm, which ships it, "
            "or set TIKTOKEN_CACHE_DIR to a folder that holds it"
        ) from error


def count_tokens(text: str, encoding: str = DEFAULT_ENCODING) -> int:
    """tok(text). A text that overflows tiktoken's regex stack (a huge unbroken run) is counted in pieces."""
    if not text:
        return 0
    encoder = _encoding(encoding)
    try:
        return len(encoder.encode(text, disallowed_special=()))
    except ValueError:
        pieces = (text[start : start + _SAFE_CHARS] for start in range(0, len(text), _SAFE_CHARS))
        return sum(len(encoder.encode(piece, disallowed_special=())) for piece in pieces)


def message_tokens(text: str, encoding: str = DEFAULT_ENCODING) -> int:
    """Tok of a message or a tool result without its calls: 4 + tok(text)."""
    return ITEM_OVERHEAD + count_tokens(text, encoding)


def event_tokens(event: Event, encoding: str = DEFAULT_ENCODING) -> int:
    """Tok of a message without its calls, or of a result: its text, what stands beside it, images and files."""
    beside = count_tokens(event.beside, encoding) if event.beside else 0
    return message_tokens(event.text, encoding) + beside + event.media_tokens


def call_tokens(name: str, arguments: str, encoding: str = DEFAULT_ENCODING) -> int:
    """Tok of one tool call: 4 + tok(name) + tok(arguments)."""
    return ITEM_OVERHEAD + count_tokens(name, encoding) + count_tokens(arguments, encoding)
