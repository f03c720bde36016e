"""A folder as state: its facts, what it weighs, and the whole of it as bytes and back."""

import io
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from schemas.canonical import canonical_json, content_hash, digest
from schemas.check import Facts, Scalar

LONGEST_TEXT = 16_384
"""Bytes of a file whose content is a fact as it stands; of a longer one its digest is."""
MOST_FILES = 5000


class TooLargeError(Exception):
    """A folder holds more than a world may."""


def facts_of(folder: Path, ignore: Sequence[str]) -> Facts:
    """`file/<path>/content` (`digest` of binary and long ones), `folder/<path>/is`, and of JSON lines `record/<path>:<hash>/<field>`.

    Paths are percent-encoded. A record's key is the hash of its content, so that the order of lines is no fact.
    """
    found: dict[str, Scalar] = {}
    for path in _paths(folder, ignore):
        name = quote(path.relative_to(folder).as_posix(), safe="")
        if path.is_symlink():
            found[f"file/{name}/link"] = path.readlink().as_posix()
        elif path.is_dir():
            found[f"folder/{name}/is"] = "there"
        else:
            found |= _file_facts(name, path.read_bytes())
    return found


def _file_facts(name: str, blob: bytes) -> dict[str, Scalar]:
    if name.endswith(".jsonl"):
        rows = _records(blob)
        if rows is not None:
            return {f"record/{name}:{key}/{field}": value for key, row in rows.items() for field, value in row.items()}
    try:
        text = blob.decode() if len(blob) <= LONGEST_TEXT else None
    except UnicodeDecodeError:
        text = None
    if text is None or "\0" in text:
        return {f"file/{name}/digest": digest(blob)}
    return {f"file/{name}/content": text}


def _records(blob: bytes) -> dict[str, dict[str, Scalar]] | None:
    """The objects of JSON lines by key; None where one is no object, or has a field that no fact's path can name."""
    rows: dict[str, dict[str, Scalar]] = {}
    for line in blob.splitlines():
        if not line.strip():
            continue
        try:
            value = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            return None
        row = {
            name: one if isinstance(one, str | int | float | bool | None) else canonical_json(one).decode() for name, one in value.items()
        }
        if not row or any("/" in name or not name for name in row):
            return None
        key = content_hash(value)
        copies = sum(other.partition("#")[0] == key for other in rows)
        rows[f"{key}#{copies}" if copies else key] = row
    return rows


def _scalar(value: Any) -> Scalar:
    return value if isinstance(value, str | int | float | bool | None) else canonical_json(value).decode()


def weight(folder: Path) -> int:
    """Bytes that a folder's files take; files that go while it is looked at count nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += 0 if path.is_symlink() or path.is_dir() else path.stat().st_size
        except OSError:
            continue
    return total


def packed(folder: Path) -> bytes:
    """Everything in a folder; the same content gives the same bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(folder.rglob("*")):
            tar.add(path, path.relative_to(folder).as_posix(), recursive=False, filter=_plain)
    return buffer.getvalue()


def unpacked(blob: bytes, folder: Path) -> None:
    """Puts what `packed` gave into an emptied folder."""
    emptied(folder)
    with tarfile.open(fileobj=io.BytesIO(blob)) as tar:
        tar.extractall(folder, filter="tar")


def emptied(folder: Path) -> None:
    """Leaves the folder itself, with nothing in it."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def start_digest(start: Path | None) -> str:
    """What a start folder holds, in one hash."""
    return content_hash([]) if start is None else digest(packed(start))


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.mtime = info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mode &= 0o777
    return info


def _paths(folder: Path, ignore: Sequence[str]) -> Iterator[Path]:
    for at, path in enumerate(sorted(folder.rglob("*"))):
        if at >= MOST_FILES:
            raise TooLargeError(f"the world's folder holds more than {MOST_FILES} files")
        name = path.relative_to(folder).as_posix()
        if not any(fnmatch(name, pattern) for pattern in ignore):
            yield path
