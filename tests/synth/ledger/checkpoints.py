"""Manifest lines and the packs that are made of them."""

from collections.abc import Sequence

from synth.ledger.log import manifest
from synth.ledger.log.manifest import (
    FenceLine,
    Line,
    RunLine,
)
from synth.ledger.storage import Storage
from synth.schemas.canonical import digest


def written(url: str, lines: Sequence[Line], *, first: int = 0) -> Storage:
    """Lines as they were stored before there were packs."""
    storage = Storage(url)
    for place, line in enumerate(lines):
        assert storage.create(manifest.name_of(first + place), manifest.stored(line), durable=False)
    return storage


def fences(count: int, run_id: str = "r") -> list[Line]:
    return [RunLine(run_id), *(FenceLine("w", token, "h") for token in range(1, count))]


def as_stored(lines: Sequence[Line], *, chained: bool = False) -> list[bytes]:
    """Lines as earlier versions stored them, or each with a hash over the digests of all lines
    before it.
    """
    stored: list[bytes] = []
    for line in lines:
        stored.append(manifest.stored(line, history(stored) if chained else ""))
    return stored


def history(stored: Sequence[bytes]) -> str:
    """A hash over the digests of all lines, each with the hash before it."""
    found = ""
    for blob in stored:
        found = digest(found.encode() + blob[:32])
    return found


def pack_of(lines: Sequence[Line], last: int, size: int, *, chained: bool = False) -> bytes:
    stored = as_stored(lines[: last + 1], chained=chained)
    body = f"{history(stored)}\n".encode() + b"".join(stored[last + 1 - size :])
    return digest(body).encode() + b"\n" + body
