"""SHA256SUMS: the digests of a dataset's files in the form of `sha256sum -c`, and a folder compared
with them.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

import msgspec

from synth.ledger.log.manifest import WrittenFile
from synth.ledger.log.verify_written import fault
from synth.ledger.storage import Storage
from synth.schemas.canonical import digest
from synth.schemas.errors import DamagedError, SynthError

CARD = "README.md"
STEERING = (".huggingface.yaml", "dataset_infos.json")
"""What `datasets` reads beside the card, and synth never writes."""
_FRONT = re.compile(r"\s*---(?:\r\n|\r|\n)([\S\s]*?)(?:\r\n|\r|\n)---[ \t]*(?:\r\n|\n|$)")
"""The front matter of a card, as huggingface_hub finds it."""


def reaches_out(storage: Storage, sums: str) -> Iterator[str]:
    """A line for each thing in a dataset's folder that has `datasets` read, or run, what its sums
    do not name.
    """
    for name in (*STEERING, f"{Path(storage.root).name}.py"):
        if storage.size(name) is not None:
            yield (
                f"{storage.path(name)}: `datasets` would read or run it, and synth writes "
                "none; load nothing of this dataset"
            )
    try:
        configs = _configs(storage)
    except (UnicodeDecodeError, SynthError):
        yield (
            f"{storage.path(CARD)}: its front matter cannot be read, so nobody knows what "
            "would be loaded; load nothing of this dataset"
        )
        return
    for path in dict.fromkeys(_paths(configs)):
        if leads_out(path):
            yield (
                f"{storage.path(CARD)}: its configs name {path!r}, which no line of {sums} "
                "can; load nothing of this dataset"
            )


def leads_out(path: str) -> bool:
    """Whether a path or pattern may lead out of the folder, or to what is hidden in it and has no
    sum.

    Patterns whose parts begin with no dot find no hidden files, and all others have sums.
    """
    parts = path.split("/")
    return (
        path.startswith("/")
        or any(sign in path for sign in (":", "\\", "\0"))
        or any(part.startswith(".") and part != "." for part in parts)
    )


def _configs(storage: Storage) -> list[Any]:
    from synth.schemas.yaml_text import read_yaml

    if storage.size(CARD) is None:
        return []
    front = _FRONT.match(storage.read(CARD).decode())
    said = read_yaml(front[1], CARD) if front is not None else None
    configs = said.get("configs") if isinstance(said, dict) else None
    return configs if isinstance(configs, list) else [configs] if configs else []


def _paths(configs: list[Any]) -> Iterator[str]:
    for config in configs:
        if isinstance(config, dict):
            for key in ("data_files", "data_dir"):
                yield from texts_in(config.get(key))


def texts_in(value: Any) -> Iterator[str]:
    """Every text in it."""
    if isinstance(value, str | PurePath):
        yield str(value)
    elif isinstance(value, list | tuple | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts_in(inner)


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
