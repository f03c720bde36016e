"""Bytes of a file, unpacked by content, read twice: once to know that all of it can be had, once to
be parsed.
"""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Mapping, Set
from contextlib import closing
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from synth.importers.records import WHOLE, Record, Rejection

MAX_UNPACKED = 1 << 30
MAX_RATIO = 200
"""A packed file may unpack to `MAX_UNPACKED` bytes, or to `MAX_RATIO` times its size where that is
more; logs pack 10 to 50 times.
"""
DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)
"""What reading bytes that are not as they should be comes to."""
_HELD = 16 << 20
"""Bytes of content up to which a file is unpacked once and kept."""
_CHUNK = 1 << 20
# the sign of a tar archive stands here in its first header
_TAR_AT, _TAR = 257, b"ustar"


def _zstd(path: Path) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(str(path), "zstd")


_OPENERS: Mapping[bytes, Callable[[Path], Any] | str] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": _zstd,
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\x04\x22\x4d\x18": "lz4",
    b"": partial(open, mode="rb"),
}
"""By the first bytes of a file: what opens it, or the name of an archive that nothing here does.
The last entry, which every file begins with, is for those that are not packed.
"""

Known = Set[tuple[int, str]]
"""Size and hash of files that were imported before."""


class Unpacked(msgspec.Struct):
    """A file whose content is whole: its hash and size, and where in it earlier imports of the same
    log ended (`former`: offset, hash). `read`: how much of it was given out so far.
    """

    name: str
    sha: str
    size: int
    former: tuple[tuple[int, str], ...]
    stream: Callable[[], Any]
    read: int = 0
    seen: str = ""
    """The format that it was read as, and by what that was told."""
    verdicts: bool = False
    """Whether it holds verdicts of trajectories that lie elsewhere."""
    columns: set[str] = set()
    """Of the columns that the user has named, those that one of its records has."""

    def open(self) -> io.BufferedReader:
        """The content. A live log may have gained some since it was hashed: what is beyond `size`
        belongs to the next import.
        """
        return io.BufferedReader(self.stream(), _CHUNK)

    def record(self, locator: str, end: int | None = None) -> Record:
        """What stands at a place, still without its value; a line that ends at the offset `end` has
        the hash under which it was first imported.
        """
        first = (sha for offset, sha in self.former if end is not None and end <= offset)
        return Record(self.name, next(first, self.sha), locator, None)


def unpacked(
    path: Path, name: str, known: Known, *, max_bytes: int = MAX_UNPACKED
) -> Unpacked | Rejection:
    """Reads all of a file; where that fails, the rejection says why.

    `known` are the files imported before: those that this one begins with are found. `max_bytes`:
    what a packed file may unpack to, unless it is large itself.
    """
    whole = Record(name, "", WHOLE, None)

    try:
        if not path.is_file():
            return whole.rejected("not_a_file", "" if path.exists() else "a broken link")

        with path.open("rb") as raw:
            magic = raw.read(6)

        opener = next(how for first, how in _OPENERS.items() if magic.startswith(first))
        if isinstance(opener, str):
            return whole.rejected("unsupported_compression", f"{opener}: unpack it first")

        limit = max(max_bytes, MAX_RATIO * path.stat().st_size)
    except OSError as error:
        return whole.rejected("unreadable", error.strerror or str(error))

    try:
        with closing(opener(path)) as stream:
            return hashed(stream, partial(opener, path), whole, known, limit)
    except DAMAGE as error:
        return whole.rejected("damaged_file", str(error))


def hashed(
    stream: Any, again: Callable[[], Any], whole: Record, known: Known, limit: int
) -> Unpacked | Rejection:
    """Hashes a stream to its end, and notes at which sizes its hash was that of a known file."""
    hashed, held, size = blake2b(digest_size=16), bytearray(), 0
    former: list[tuple[int, str]] = []

    # a chunk ends where a known file did: only there can the hashes be compared
    ends = sorted({end for end, _ in known} - {0}, reverse=True)

    while chunk := stream.read(min(_CHUNK, ends[-1] - size) if ends else _CHUNK):
        hashed.update(chunk)
        size += len(chunk)
        if size <= _HELD:
            held += chunk

        if held.startswith(_TAR, _TAR_AT):
            return whole.rejected("unsupported_compression", "tar: unpack it first")

        if size > limit:
            told = f"a packed file that unpacks to more than {limit} bytes: unpack it first"
            return whole.rejected("file_too_large", told)

        if ends and size == ends[-1]:
            ends.pop()
            if (size, hashed.hexdigest()) in known:
                former.append((size, hashed.hexdigest()))

    kept = partial(io.BytesIO, bytes(held)) if size <= _HELD else again
    return Unpacked(whole.file, hashed.hexdigest(), size, tuple(former), kept)
