"""Files and folders -> bytes, unpacked by content; nothing that is found is passed over in silence."""

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO

from schemas.canonical import valid_text
from synth.importers.records import Rejection, one_line

MAX_FILE_BYTES = 2 << 30
"""Of unpacked content: memory is bounded by one file, and a packed bomb must not fill it."""
_CHUNK = 1 << 20
_GZIP, _BZIP2, _XZ, _ZSTD, _ZIP = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
_Stream = IO[bytes] | gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile


def files(source: Path) -> Iterator[tuple[Path, str] | Rejection]:
    """(path, name) of a file, or of all files below a folder in sorted order; the name is relative to the folder."""
    if not source.is_dir():
        yield source, valid_text(source.name)
        return
    failed: list[OSError] = []
    for folder, folders, names in os.walk(source, onerror=failed.append):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            yield path, valid_text(path.relative_to(source).as_posix())
    for error in failed:
        name = os.path.relpath(error.filename, source) if error.filename else source.name
        yield Rejection(valid_text(name), "folder", "unreadable", one_line(error.strerror or str(error)))


def content(path: Path, name: str, *, max_bytes: int = MAX_FILE_BYTES) -> tuple[bytes, Rejection | None]:
    """The unpacked bytes of a file, as far as they can be had, and what is wrong with them."""
    try:
        if not path.is_file():
            return b"", Rejection(name, "file", "not_a_file")
        raw = path.open("rb")
    except OSError as error:
        return b"", Rejection(name, "file", "unreadable", one_line(error.strerror or str(error)))
    with raw:
        return _unpacked(raw, name, max_bytes)


def _unpacked(raw: IO[bytes], name: str, max_bytes: int) -> tuple[bytes, Rejection | None]:
    try:
        magic = raw.read(6)
        raw.seek(0)
        if magic.startswith((_ZSTD, _ZIP)):
            packed_as = "zstd" if magic.startswith(_ZSTD) else "zip"
            return b"", Rejection(name, "file", "unsupported_compression", f"{packed_as}: unpack it first")
        with _opened(raw, magic) as stream:
            return _read(stream, name, max_bytes)
    except OSError as error:
        return b"", Rejection(name, "file", "unreadable", one_line(error.strerror or str(error)))


def _opened(raw: IO[bytes], magic: bytes) -> _Stream:
    if magic.startswith(_GZIP):
        return gzip.open(raw)
    if magic.startswith(_BZIP2):
        return bz2.open(raw)
    if magic.startswith(_XZ):
        return lzma.open(raw)
    return raw


def _read(stream: _Stream, name: str, max_bytes: int) -> tuple[bytes, Rejection | None]:
    """Reads to the end, the limit, or the damage: what stands before a damaged place can still be used."""
    blob = BytesIO()
    try:
        while chunk := stream.read(_CHUNK):
            blob.write(chunk)
            if blob.tell() > max_bytes:
                return b"", Rejection(name, "file", "file_too_large", f"more than {max_bytes} bytes unpacked: split it")
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        return blob.getvalue(), Rejection(name, "file", "damaged_file", one_line(str(error)))
    return blob.getvalue(), None
