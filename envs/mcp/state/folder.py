"""A folder as state: its facts, what it weighs, and the whole of it as bytes and back."""

import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from synth.confinement import hand_over
from synth.envs.mcp.state.tables import TABLE, column, is_database, table_facts
from synth.envs.mcp.state.walk import TooLargeError, emptied, entries
from synth.keys.remover import KeyRemover
from synth.schemas import ConfigError, Facts, Scalar, canonical_json, content_hash, digest

PATH, FILE = "@path", "@file"
PLACES = (
    f"file/*/{PATH}",
    f"folder/*/{PATH}",
    f"record/*/{FILE}",
    f"row/*/{TABLE}",
    f"table/*/{TABLE}",
)
"""Facts that say where a row stands: they come and go with the row's others."""
NO_KEYS = KeyRemover({})
LONGEST_TEXT = 16_384
"""Bytes of a file whose content is a fact as it stands; of a longer one its digest is."""


def facts_of(folder: Path, ignore: Sequence[str], keys: KeyRemover = NO_KEYS) -> Facts:
    """`file/<path>/content` (`digest` of binary and long ones, `link` and `is` of what is none),
    `folder/<path>/is`, of JSON lines
    `record/<path>:<hash>/<field>`, and of SQLite databases what `envs/mcp/state/tables.py` says.

    The `keys` are taken out first, so that no hash depends on them; rows of a database are hashed
    as they are.
    Paths are percent-encoded. A record's key is the hash of its content, so that the order of lines
    is no fact. Each row also says where
    it stands, in a column of its own (`PLACES`): what is new is known by its columns alone. The
    field `id` is `@id`, as the column `id` of
    a row is its key.
    Raises `TooLargeError` as `entries` does.
    """

    found: dict[str, Scalar] = {}
    for entry in entries(folder):
        if any(fnmatch(entry.path, pattern) for pattern in ignore):
            continue
        name = quote(os.fsencode(entry.path), safe="")
        if entry.kind == "folder":
            found |= {f"folder/{name}/is": "there", f"folder/{name}/{PATH}": name}
        elif entry.kind == "file":
            content = entry.content()
            found |= _file_facts(name, content if is_database(content) else keys.clean(content))
        elif entry.kind == "link":
            found |= _file(
                name, "link", os.fsencode(entry.target()).decode("utf-8", "backslashreplace")
            )
        else:
            found |= _file(name, "is", entry.kind)

    cleaned: Facts = keys.cleaned(found)

    return cleaned


def _file(name: str, column: str, value: Scalar) -> dict[str, Scalar]:
    return {f"file/{name}/{column}": value, f"file/{name}/{PATH}": name}


def _file_facts(name: str, blob: bytes) -> dict[str, Scalar]:
    if name.endswith(".jsonl"):
        rows = _records(blob)
        if rows is not None:
            placed = {key: {FILE: name, **row} for key, row in rows.items()}
            facts = {
                f"record/{name}:{key}/{field}": value
                for key, row in placed.items()
                for field, value in row.items()
            }
            return facts | _file(name, "is", "records")

    if is_database(blob) and (tables := table_facts(name, blob)) is not None:
        return tables | _file(name, "is", "database")

    try:
        text = blob.decode() if len(blob) <= LONGEST_TEXT else None
    except UnicodeDecodeError:
        text = None

    if text is None or "\0" in text:
        return _file(name, "digest", digest(blob))

    return _file(name, "content", text)


def _records(blob: bytes) -> dict[str, dict[str, Scalar]] | None:
    """The objects of JSON lines by key; None where one is no object, or has a field that no fact's
    path can name.
    """

    rows: dict[str, dict[str, Scalar]] = {}
    for line in blob.splitlines():
        if not line.strip():
            continue
        try:
            value = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            return None

        row = {
            column(name): one
            if isinstance(one, str | int | float | bool | None)
            else canonical_json(one).decode()
            for name, one in value.items()
        }
        if not row or any("/" in name or not name or name.startswith("@") for name in value):
            return None
        key = content_hash(value)
        copies = sum(other.partition("#")[0] == key for other in rows)
        rows[f"{key}#{copies}" if copies else key] = row

    return rows


def packed(folder: Path) -> bytes:
    """Everything in a folder but sockets; the same content gives the same bytes. Raises
    `TooLargeError` as `entries` does.
    """

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for entry in entries(folder):
            info = tarfile.TarInfo(entry.path)
            info.mode = entry.seen.st_mode & 0o777
            if entry.kind == "file":
                content = entry.content()
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
            elif entry.kind in _TYPES:
                info.type = _TYPES[entry.kind]
                info.linkname = entry.target() if entry.kind == "link" else ""
                tar.addfile(info)

    return buffer.getvalue()


_TYPES = {"folder": tarfile.DIRTYPE, "link": tarfile.SYMTYPE, "pipe": tarfile.FIFOTYPE}


def unpacked(blob: bytes, folder: Path, *, owned: bool = False) -> None:
    """Puts what `packed` gave into a folder, in place of what it holds; `owned`: by the user that
    works in it.

    It is laid out beside the folder, where nobody works, and moved.
    """

    beside = Path(tempfile.mkdtemp(prefix="synth-start-", dir=folder.parent))
    try:
        with tarfile.open(fileobj=io.BytesIO(blob)) as tar:
            tar.extractall(beside, filter="tar")
        if owned:
            hand_over(beside, of=folder)
        emptied(folder)
        for path in beside.iterdir():
            path.rename(folder / path.name)
    finally:
        emptied(beside)
        beside.rmdir()


def removed(folder: Path) -> None:
    """Takes a world's folder away; what cannot be is left to the system's own cleaning of temporary
    files.
    """

    try:
        emptied(folder)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        folder.rmdir()


def start_content(start: Path | None) -> bytes | None:
    """What a start folder holds, packed. Raises `ConfigError` where it is more than a world may
    hold.
    """

    try:
        return None if start is None else packed(start)
    except TooLargeError as error:
        raise ConfigError(
            f"{start}: as a start folder, {error}; leave out what no task needs"
        ) from error
    except OSError as error:
        raise ConfigError(f"{start}: the start folder cannot be read: {error}") from error


def start_digest(start: Path | None) -> str:
    """What a start folder holds, in one hash. Raises as `start_content`."""
    content = start_content(start)
    return content_hash([]) if content is None else digest(content)
