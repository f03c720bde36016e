"""One byte string per value, and the content hashes that stand on it."""

from hashlib import blake2b
from typing import Any

import msgspec

_ENCODER = msgspec.json.Encoder(order="deterministic")


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no white space; equal values give equal bytes."""
    return _ENCODER.encode(value)


def content_hash(value: Any, *, size: int = 12) -> str:
    """Hex blake2b over the canonical JSON of a value; `size` in bytes (12 = 96 bits: no collision
    at 10^7 rows).
    """
    return blake2b(_ENCODER.encode(value), digest_size=size).hexdigest()


def digest(blob: bytes) -> str:
    """Hex blake2b of bytes, as the manifest records it for every file."""
    return blake2b(blob, digest_size=16).hexdigest()


def valid_text(text: str) -> str:
    """Text with lone surrogates replaced by U+FFFD: no UTF-8 file, parquet column or tokenizer can
    hold them.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
