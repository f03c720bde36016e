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

from synth.importers.records import WHOLE, Rejection, one_line

MAX_UNPACKED = 1 << 30
MAX_RATIO = 200
"""A packed file may unpack to `MAX_UNPACKED` bytes, or to `MAX_RATIO` times its size where that is
more; logs pack 10 to 50 times.
"""
DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)
"""What reading bytes that are not as they should be comes to."""
_HELD = 16 << 20  # files up to this size are unpacked once and kept
_CHUNK = 1 << 20


def _zstd(path: Path) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")


_PACKED: Mapping[bytes, Callable[[Path], Any] | str] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": _zstd,
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\x04\x22\x4d\x18": "lz4",
}
"""By the first bytes of a file: what opens it, or the name of an archive that nothing here does."""
_TAR_AT, _TAR = 257, b"ustar"


class Unpacked(msgspec.Struct):
    """A file whose content is whole: its hash and size, and where in it earlier imports of the same
    log ended (`former`: offset, hash). `read`: bytes given out so far.
    """

    path: Path
    name: str
    sha: str
    size: int
    former: tuple[tuple[int, str], ...] = ()
    held: bytes | None = None
    read: int = 0

    def open(self) -> io.BufferedReader:
        """The content, as long as it was when it was hashed: what a live log has gained since
        belongs to the next import.
        """
        self.read = 0
        return io.BufferedReader(_Content(self), _CHUNK)

    def sha_at(self, end: int) -> str:
        """The hash under which a line that ends at this offset was first imported."""
        return next((sha for offset, sha in self.former if end <= offset), self.sha)


class _Content(io.RawIOBase):
    """The first `size` bytes of a file, counted as they are read."""

    def __init__(self, file: Unpacked) -> None:
        self._file, self._left = file, file.size
        self._stream = _opener(file.path)(file.path) if file.held is None else io.BytesIO(file.held)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills the buffer, unless the end comes first."""
        chunk = self._stream.read(min(len(buffer), self._left))
        buffer[: len(chunk)] = chunk
        self._left -= len(chunk)
        self._file.read += len(chunk)
        return len(chunk)

    def close(self) -> None:
        self._stream.close()
        super().close()


def unpacked(
    path: Path, name: str, known: Mapping[int, Set[str]], *, max_bytes: int = MAX_UNPACKED
) -> Unpacked | Rejection:
    """Reads all of a file. `known` are the files imported before, hashes by size: those that this
    one begins with are found.
    """
    refused = partial(Rejection, name, WHOLE)
    try:
        if not path.is_file():
            return refused("not_a_file", "" if path.exists() else "a broken link")
        opener = _opener(path)
        if isinstance(opener, str):
            return refused("unsupported_compression", f"{opener}: unpack it first")
        limit = max(max_bytes, MAX_RATIO * path.stat().st_size)
        stream = opener(path)
    except OSError as error:
        return refused("unreadable", one_line(error.strerror or str(error)))
    with closing(stream):
        try:
            return _hashed(stream, path, refused, known, limit)
        except DAMAGE as error:
            return refused("damaged_file", one_line(str(error)))


def _hashed(
    stream: Any,
    path: Path,
    refused: "partial[Rejection]",
    known: Mapping[int, Set[str]],
    limit: int,
) -> Unpacked | Rejection:
    hashed, held, size = blake2b(digest_size=16), bytearray(), 0
    former: list[tuple[int, str]] = []
    ends = sorted(filter(None, known), reverse=True)
    while chunk := stream.read(min(_CHUNK, ends[-1] - size) if ends else _CHUNK):
        hashed.update(chunk)
        size += len(chunk)
        if size <= _HELD:
            held += chunk
        if held.startswith(_TAR, _TAR_AT):
            return refused("unsupported_compression", "tar: unpack it first")
        if size > limit:
            return refused(
                "file_too_large",
                f"a packed file that unpacks to more than {limit} bytes: unpack it first",
            )
        if ends and size == ends[-1]:
            ends.pop()
            former += [(size, sha)] if (sha := hashed.hexdigest()) in known[size] else []
    kept = bytes(held) if size <= _HELD else None
    return Unpacked(path, refused.args[0], hashed.hexdigest(), size, tuple(former), kept)


def _opener(path: Path) -> Any:
    """What opens a file, or the name of what nothing here opens. Raises `OSError`."""
    with path.open("rb") as raw:
        magic = raw.read(6)
    plain = partial(open, mode="rb")
    return next((how for first, how in _PACKED.items() if magic.startswith(first)), plain)
