"""Episodes put aside: overlay, clock, customer's memory and transcript in a few compressed
kilobytes.
"""

import zlib

import msgspec

from synth.envs.storefront.customer.customer import Memory
from synth.envs.storefront.tools.transcript import Exchange
from synth.envs.storefront.world.catalogue import Row
from synth.envs.storefront.world.search_index import SearchIndex
from synth.schemas.errors import DamagedError
from synth.schemas.task import Task

COMPRESSION_LEVEL = 6


class Parked(msgspec.Struct):
    """All that differs from a freshly opened episode of the task; `changed` are rows by table and
    key.
    """

    task: Task | None
    ticks: int
    changed: list[tuple[str, str, Row]]
    memory: Memory
    exchanges: list[Exchange]
    index: SearchIndex
    happened: list[int]
    stumbled: list[str]


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Parked)


def parked(episode: Parked) -> bytes:
    """The episode as bytes."""
    return zlib.compress(_ENCODER.encode(episode), COMPRESSION_LEVEL)


def unparked(blob: bytes) -> Parked:
    """The episode again. Raises `DamagedError` where the bytes are not those of a parked
    episode.
    """
    try:
        return _DECODER.decode(zlib.decompress(blob))
    except (zlib.error, msgspec.DecodeError) as error:
        raise DamagedError(f"a parked storefront episode cannot be read: {error}") from error
