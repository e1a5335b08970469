"""A BSON value as bytes: equal values give equal bytes, and bytes sort as MongoDB sorts the values.

This one encoding decides equality and order everywhere: in filters and updates, in the index columns of the file,
and for `_id`. The first byte is the type (numbers of every kind share one), so `1 == 1.0`, `True != 1`, and a range
stays within its type as in MongoDB. Arrays and documents have no order here, only equality.
"""

import math
import struct
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import bson
from bson import Binary, Int64, ObjectId

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXACT = 1 << 53


class Missing:
    """The value of a field that isn't there; sorts and compares as null."""


MISSING: Final = Missing()

NULL = b"\x05"
_NAN = b"\x0f"  # beside the numbers: neither less nor greater than any of them
_NUMBER, _STRING, _DOCUMENT, _ARRAY, _BINARY, _OBJECT_ID, _FALSE, _TRUE, _DATE, _OTHER = (
    b"\x10", b"\x20", b"\x30", b"\x40", b"\x50", b"\x60", b"\x70\x00", b"\x70\x01", b"\x80", b"\xe0",
)  # fmt: skip
AFTER = b"\xff"  # greater than every type byte: closes the range of all that begins with a prefix
_END = b"\x00\x01"

UNORDERED = frozenset((_DOCUMENT, _ARRAY, _OTHER))


def encode(value: Any) -> bytes:
    """The bytes of a value as BSON decodes it (`MISSING` included); any other BSON type gets equality only."""
    encoder = _ENCODERS.get(type(value))
    return encoder(value) if encoder else _OTHER + bson.encode({"": value})


def encode_folded(value: Any) -> bytes:
    """As `encode`, but strings that differ in case only are equal (a collation of strength 2)."""
    return _string(unicodedata.normalize("NFC", value.casefold())) if isinstance(value, str) else encode(value)


def _integer(value: int) -> bytes:
    nearest = float(value)
    if -_EXACT <= value <= _EXACT:
        return _NUMBER + _double(nearest) + b"\x00\x00"
    if int(nearest) > value:
        nearest = math.nextafter(nearest, -math.inf)
    return _NUMBER + _double(nearest) + struct.pack(">H", value - int(nearest))


def _float(value: float) -> bytes:
    return _NAN if value != value else _NUMBER + _double(value + 0.0) + b"\x00\x00"  # + 0.0: no negative zero


def _double(value: float) -> bytes:
    (bits,) = struct.unpack(">Q", struct.pack(">d", value))
    return struct.pack(">Q", bits ^ (0xFFFFFFFFFFFFFFFF if bits >> 63 else 1 << 63))


def _string(value: str) -> bytes:
    return _STRING + value.encode().replace(b"\x00", b"\x00\xff") + _END


def _date(value: datetime) -> bytes:
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    delta = moment - _EPOCH
    milliseconds = (delta.days * 86_400 + delta.seconds) * 1000 + delta.microseconds // 1000
    return _DATE + struct.pack(">Q", milliseconds + (1 << 63))


def _binary(value: bytes) -> bytes:
    return _BINARY + struct.pack(">IB", len(value), getattr(value, "subtype", 0)) + value


def _document(value: dict[str, Any]) -> bytes:
    return _DOCUMENT + b"".join(_string(name) + encode(item) for name, item in value.items()) + _END


def _array(value: list[Any]) -> bytes:
    return _ARRAY + b"".join(encode(item) for item in value) + _END


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    str: _string,
    ObjectId: lambda value: _OBJECT_ID + value.binary,
    int: _integer,
    Int64: _integer,
    float: _float,
    bool: lambda value: _TRUE if value else _FALSE,
    type(None): lambda value: NULL,
    Missing: lambda value: NULL,
    datetime: _date,
    bytes: _binary,
    Binary: _binary,
    dict: _document,
    list: _array,
}
