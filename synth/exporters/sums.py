"""SHA256SUMS: the digests of a dataset's files in the form of `sha256sum -c`, and a folder compared
with them.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from synth.exporters.reach import reaches_out
from synth.ledger.manifest import WrittenFile
from synth.ledger.storage import Storage
from synth.ledger.written import fault
from synth.schemas.canonical import digest
from synth.schemas.errors import DamagedError

SUMS = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  (?!/)([^\\\n\r\0]+)")
_CACHED = re.compile(r"(?:\.\./)+blobs/[0-9a-f]{40,64}")
"""Where the Hub's cache keeps the content of a file that it shows in a snapshot's folder."""
_BESIDE = re.compile(r"\.(?:gitattributes|DS_Store|git/.*|cache/.*|partial-[0-9]+/.*)")
"""What downloads and file managers put beside a dataset, and nothing reads as one."""
AGAIN = "get it again from where it came"


class _Listed(msgspec.Struct, frozen=True):
    """manifest.json of a dataset that has no sums yet."""

    files: dict[str, dict[str, int | str]]


def sums_text(files: Mapping[str, WrittenFile]) -> bytes:
    """The file's bytes; the same for the same files."""
    return "".join(f"{file.sha256}  {name}\n" for name, file in sorted(files.items())).encode()


def read_sums(storage: Storage) -> dict[str, str]:
    """Digest by name. Raises `DamagedError` for text that is none, and `FileNotFoundError`."""
    found: dict[str, str] = {}
    try:
        lines = storage.read(SUMS).decode().split("\n")
    except UnicodeDecodeError as error:
        raise DamagedError(f"{storage.path(SUMS)}: damaged (it is no text); {AGAIN}") from error
    if lines.pop() or not lines:
        raise DamagedError(f"{storage.path(SUMS)}: damaged (it is cut off, or empty); {AGAIN}")
    for line in lines:
        told = _LINE.fullmatch(line)
        if told is None or told[2] in found or ".." in told[2].split("/"):
            raise DamagedError(f"{storage.path(SUMS)}: damaged (a line of it is none); {AGAIN}")
        found[told[2]] = told[1]
    if list(found) != sorted(found):
        raise DamagedError(f"{storage.path(SUMS)}: damaged (its lines are not in order); {AGAIN}")
    return found


def names_dataset(storage: Storage) -> bool:
    """Whether sums that synth wrote lie in a folder, be it without the files that they name."""
    try:
        return {"README.md", "manifest.json"} <= set(read_sums(storage))
    except (FileNotFoundError, DamagedError):
        return False


def is_dataset(storage: Storage) -> bool:
    """Whether a folder is a dataset that synth wrote, by what lies in it."""
    return storage.size(SUMS) is not None or (
        storage.size("manifest.json") is not None and storage.size("README.md") is not None
    )


def folder_problems(storage: Storage) -> Iterator[str]:
    """A line for each file of a dataset's folder that is not as its SHA256SUMS says, and for each
    that it does not name.

    Where all are, one for what has `datasets` read elsewhere: no sums tell what would be loaded
    from there.
    """
    found = False
    for problem in _unlike_sums(storage):
        found = True
        yield problem
    if not found:
        yield from reaches_out(storage, SUMS)


def _unlike_sums(storage: Storage) -> Iterator[str]:
    try:
        sums = read_sums(storage)
    except FileNotFoundError:
        yield from _without_sums(storage)
        return
    except DamagedError as error:
        yield str(error)
        return
    belongs = {sha: name for name, sha in sums.items()}
    for name, sha in sums.items():
        wrong = _wrong(storage, name, sha, belongs)
        if wrong is not None:
            yield f"{storage.path(name)}: {wrong}; {AGAIN}"
    for name in storage.tree(""):
        if name not in sums and name != SUMS and not _BESIDE.fullmatch(name):
            yield (
                f"{storage.path(name)}: {SUMS} does not name it; move it away before anybody "
                "reads the folder"
            )


def _wrong(storage: Storage, name: str, sha: str, belongs: Mapping[str, str]) -> str | None:
    size = storage.size(name)
    if size is None:
        return "missing"
    if storage.is_link(name) and not _CACHED.fullmatch(str(Path(storage.root, name).readlink())):
        return "a link to another place"
    found = fault(storage, name, WrittenFile(size, sha)) if not storage.is_link(name) else None
    if found is not None and not found.startswith("damaged"):
        return found
    held = storage.sha256(name)
    if held == sha:
        return None
    return (
        f"holds what belongs at {belongs[held]}"
        if held in belongs
        else "damaged (its bytes are not those that were written)"
    )


def _without_sums(storage: Storage) -> Iterator[str]:
    """Datasets of earlier versions name their rows alone; nothing tells one from a dataset whose
    sums were deleted.
    """
    try:
        listed = msgspec.json.decode(storage.read("manifest.json"), type=_Listed)
    except (FileNotFoundError, msgspec.DecodeError):
        yield (
            f"{storage.path(SUMS)}: missing, and nothing else names the files of this "
            f"dataset; {AGAIN}"
        )
        return
    yield (
        f"{storage.path(SUMS)}: missing (deleted, or of a version of synth that wrote none), so "
        "README.md and manifest.json are not "
        f"compared; {AGAIN}, or export it again"
    )
    for name, file in listed.files.items():
        if storage.size(name) is None or digest(storage.read(name)) != file.get("digest"):
            yield (
                f"{storage.path(name)}: missing or damaged (its bytes are not those that "
                f"manifest.json names); {AGAIN}"
            )
