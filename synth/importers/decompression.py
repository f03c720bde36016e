"""Bytes of a file, unpacked by content, read twice: once to know that all of it can be had, once to
be parsed.
"""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Mapping, Set
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

import msgspec

from synth.importers.records import WHOLE, Rejection, one_line

MAX_UNPACKED = 1 << 30
MAX_RATIO = 200
"""A packed file may unpack to `MAX_UNPACKED` bytes, or to `MAX_RATIO` times its size where that is
more; logs pack 10 to 50 times.
"""
_HELD = 16 << 20  # files up to this size are unpacked once and kept
_CHUNK = 1 << 20
_GZIP, _BZIP2, _XZ, _ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
_NOT_UNPACKED = {
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\x04\x22\x4d\x18": "lz4",
}
_TAR_AT, _TAR = 257, b"ustar"


class _Bytes(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


class Unpacked(msgspec.Struct, frozen=True):
    """A file whose content is whole: its hash and size, and where in it earlier imports of the same
    log ended (`former`: offset, hash).
    """

    path: Path
    name: str
    sha: str
    size: int
    former: tuple[tuple[int, str], ...] = ()
    held: bytes | None = None
    meter: list[int] = msgspec.field(default_factory=lambda: [0])
    """Bytes read so far."""

    def share_read(self) -> float:
        """How much of the content has been read, 0..1."""
        return self.meter[0] / max(1, self.size)

    def open(self) -> io.BufferedReader:
        """The content, as long as it was when it was hashed: what a live log has gained since
        belongs to the next import.
        """
        raw: io.RawIOBase = _Stream(
            io.BytesIO(self.held) if self.held is not None else _opened(self.path),
            self.size,
            self.meter,
        )
        return io.BufferedReader(raw, _CHUNK)

    def sha_at(self, end: int) -> str:
        """The hash under which a line that ends at this offset was first imported."""
        return next((sha for offset, sha in self.former if end <= offset), self.sha)


def unpacked(
    path: Path, name: str, known: Mapping[int, Set[str]], *, max_bytes: int = MAX_UNPACKED
) -> Unpacked | Rejection:
    """Reads all of a file. `known` are the files imported before, hashes by size: those that this
    one begins with are found.
    """
    try:
        if not path.is_file():
            return Rejection(name, WHOLE, "not_a_file", "" if path.exists() else "a broken link")
        limit = max(max_bytes, MAX_RATIO * path.stat().st_size)
        with path.open("rb") as raw:
            magic = raw.read(6)
        for beginning, kind in _NOT_UNPACKED.items():
            if magic.startswith(beginning):
                return Rejection(name, WHOLE, "unsupported_compression", f"{kind}: unpack it first")
        with closing(_opened(path)) as stream:
            return _fingerprint(stream, path, name, known, limit)
    except OSError as error:
        return Rejection(name, WHOLE, "unreadable", one_line(error.strerror or str(error)))


def _fingerprint(
    stream: _Bytes, path: Path, name: str, known: Mapping[int, Set[str]], limit: int
) -> Unpacked | Rejection:
    hashed = blake2b(digest_size=16)
    former: list[tuple[int, str]] = []
    ends = iter([*sorted(known), limit + _CHUNK])
    end, size = next(ends), 0
    held: bytearray | None = bytearray()
    try:
        while chunk := stream.read(_CHUNK):
            if size == 0 and chunk.startswith(_TAR, _TAR_AT):
                return Rejection(name, WHOLE, "unsupported_compression", "tar: unpack it first")
            held = _kept(held, chunk)
            while end < size + len(chunk):
                cut = end - size
                hashed.update(chunk[:cut])
                if hashed.hexdigest() in known[end]:
                    former.append((end, hashed.hexdigest()))
                chunk, size, end = chunk[cut:], end, next(ends)
            hashed.update(chunk)
            size += len(chunk)
            if size > limit:
                return Rejection(
                    name,
                    WHOLE,
                    "file_too_large",
                    f"a packed file that unpacks to more than {limit} bytes: unpack it first",
                )
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        return Rejection(name, WHOLE, "damaged_file", one_line(str(error)))
    return Unpacked(
        path, name, hashed.hexdigest(), size, tuple(former), None if held is None else bytes(held)
    )


def _kept(held: bytearray | None, chunk: bytes) -> bytearray | None:
    if held is None or len(held) + len(chunk) > _HELD:
        return None
    held += chunk
    return held


def _opened(path: Path) -> _Bytes:
    with path.open("rb") as raw:
        magic = raw.read(6)
    if magic.startswith(_GZIP):
        return gzip.open(path)
    if magic.startswith(_BZIP2):
        return bz2.open(path)
    if magic.startswith(_XZ):
        return lzma.open(path)
    if magic.startswith(_ZSTD):
        import pyarrow as pa

        stream: Any = pa.CompressedInputStream(pa.PythonFile(path.open("rb"), mode="r"), "zstd")
        return stream  # type: ignore[no-any-return]
    return path.open("rb")


class _Stream(io.RawIOBase):
    """The first `size` bytes of a stream, counted as they are read."""

    def __init__(self, stream: _Bytes, size: int, meter: list[int]) -> None:
        self._stream = stream
        self._left = size
        self._meter = meter

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills the buffer, unless the end comes first."""
        view, count = memoryview(buffer), 0
        while count < len(view) and (
            chunk := self._stream.read(min(len(view) - count, self._left))
        ):
            view[count : count + len(chunk)] = chunk
            count, self._left = count + len(chunk), self._left - len(chunk)
        self._meter[0] += count
        return count

    def close(self) -> None:
        self._stream.close()
        super().close()
