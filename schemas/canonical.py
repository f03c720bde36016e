"""One byte string per value, and what stands on it: content hashes, the ids of work, and the base
of whatever is stored and read back.
"""

from collections.abc import Mapping
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


class StrictRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A struct whose unknown fields are errors when it is read, and whose defaults are left out
    when it is written.
    """


def slot_id(
    *,
    task_id: str,
    synthesizer: str,
    trial: int,
    seed: int,
    policy: Mapping[str, Any],
    model: str | None,
    sampling: Mapping[str, Any],
    parent_id: str | None = None,
    pivot_turn: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> str:
    """Hash of everything that determines a piece of work; resume is set difference over slots.

    `settings` are the limits and world options under which the episode runs. Only with
    deterministic engines does one
    slot mean one content.
    """
    return content_hash(
        {
            "task": task_id,
            "synthesizer": synthesizer,
            "trial": trial,
            "seed": seed,
            "policy": policy,
            "model": model,
            "sampling": sampling,
            "parent": parent_id,
            "pivot": pivot_turn,
            "settings": settings or {},
        }
    )


def trajectory_id(slot: str, attempt: int) -> str:
    """Hash of a slot and the number of the try at it."""
    return content_hash([slot, attempt])
