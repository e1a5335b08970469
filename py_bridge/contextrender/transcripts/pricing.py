"""Prices of what is not text: images, files, sound and sealed bytes, in tokens. Never their base64 as text.

Estimates: providers document the rules for images, and nothing exact for the others.
"""

import base64
import binascii
import io
import math
from collections.abc import Mapping
from typing import Any

from contextrender.transcripts.jsontext import dump

LOW_DETAIL_TOKENS = 85
"""OpenAI: an image at detail `low`, and the base of any other."""
TILE_TOKENS = 170
"""OpenAI: each 512 px tile of an image scaled into 2048 px and to a short side of 768 px."""
UNKNOWN_IMAGE_TOKENS = LOW_DETAIL_TOKENS + 4 * TILE_TOKENS
"""An image of unknown size: four tiles, which is 1024 × 1024."""
PIXELS_PER_TOKEN = 750
"""Anthropic: width × height / 750, of an image scaled into 1568 px."""
LARGEST_IMAGE_TOKENS = 1600
"""Anthropic: the most that an image costs after its scaling; taken for an unknown size."""
PAGE_TOKENS = 1500
"""A page of a PDF file: Anthropic names 1,500 to 3,000; its pages are counted where its bytes are there."""
AUDIO_TOKENS = 600
"""A piece of sound: about a minute at OpenAI's ten tokens a second."""
SEALED_CHARS_PER_TOKEN = 6
"""Characters of base64 that stand for one token of encrypted reasoning or sealed search results."""
SEALED_FIELDS = frozenset({"data", "encrypted_content", "encrypted_index", "signature", "file_data"})
_HEADER_CHARS = 256 * 1024
"""Characters of base64 that are decoded to find an image's size; its header stands at the front."""


def _decoded(data: str, limit: int | None = None) -> bytes:
    """Bytes of base64 or of a data URL, at most the first `limit` characters of it; b"" for anything else."""
    encoded = data[data.find(",") + 1 :] if data.startswith("data:") else data
    encoded = encoded[:limit] if limit else encoded
    try:
        return base64.b64decode(encoded[: len(encoded) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""


def image_size(data: str) -> tuple[int, int] | None:
    """Width and height of an image given as base64 or data URL, None where its bytes don't tell."""
    header = _decoded(data, _HEADER_CHARS) if not data.startswith(("http:", "https:")) else b""
    if not header:
        return None
    from PIL import Image  # late: most transcripts hold no image

    try:
        with Image.open(io.BytesIO(header)) as image:
            width, height = image.size
    except Exception:  # whatever a broken image raises, its size is unknown
        return None
    return (width, height) if width and height else None


def openai_image_tokens(url: str, detail: str = "auto") -> int:
    """Tokens of an image at OpenAI, by detail and, where the URL holds the bytes, by size."""
    if detail == "low":
        return LOW_DETAIL_TOKENS
    size = image_size(url)
    if size is None:
        return UNKNOWN_IMAGE_TOKENS
    width, height = size
    scale = min(1.0, 2048 / max(size))
    scale *= min(1.0, 768 / (min(size) * scale))
    tiles = math.ceil(width * scale / 512) * math.ceil(height * scale / 512)
    return LOW_DETAIL_TOKENS + tiles * TILE_TOKENS


def anthropic_image_tokens(data: str) -> int:
    """Tokens of an image at Anthropic, by size where its bytes are there."""
    size = image_size(data)
    if size is None:
        return LARGEST_IMAGE_TOKENS
    width, height = size
    scale = min(1.0, 1568 / max(size))
    return min(LARGEST_IMAGE_TOKENS, math.ceil(width * scale * height * scale / PIXELS_PER_TOKEN))


def file_tokens(data: str) -> int:
    """Tokens of a file given as base64 or data URL: by its pages where it is a PDF, else one page."""
    pages = _decoded(data).count(b"/Type /Page") - _decoded(data).count(b"/Type /Pages") if data else 1
    return PAGE_TOKENS * max(1, pages)


def sealed_tokens(data: str) -> int:
    """Tokens that encrypted bytes stand for."""
    return len(data) // SEALED_CHARS_PER_TOKEN


def weigh(value: Any) -> tuple[str, int]:
    """A block of an unknown kind: its JSON without sealed bytes, and the price of these."""
    tokens = 0

    def unsealed(key: str, inner: Any) -> Any:
        nonlocal tokens
        match inner:
            case str() if key in SEALED_FIELDS or inner.startswith("data:"):
                tokens += sealed_tokens(inner)
                return ""
            case Mapping():
                return {name: unsealed(name, item) for name, item in inner.items() if name != "cache_control"}
            case list():
                return [unsealed(key, item) for item in inner]
        return inner

    return dump(unsealed("", value)), tokens
