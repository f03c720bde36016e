"""SHA256SUMS: the digests of a dataset's files in the form of `sha256sum -c`, and a folder compared
with them.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

import msgspec

from synth.ledger.log.manifest import WrittenFile
from synth.ledger.log.verify_written import CARD, fault
from synth.ledger.storage import Storage
from synth.schemas import DamagedError, SynthError, digest

SUMS, MANIFEST = "SHA256SUMS", "manifest.json"
STEERING = (".huggingface.yaml", "dataset_infos.json")
"""What `datasets` reads beside the card, and synth never writes."""
AGAIN = "get it again from where it came"
_FRONT = re.compile(r"\s*---(?:\r\n|\r|\n)([\S\s]*?)(?:\r\n|\r|\n)---[ \t]*(?:\r\n|\n|$)")
"""The front matter of a card, as huggingface_hub finds it."""
_LINE = re.compile(r"([0-9a-f]{64})  (?!/)([^\\\n\r\0]+)")
_CACHED = re.compile(r"(?:\.\./)+blobs/[0-9a-f]{40,64}")
"""Where the Hub's cache keeps the content of a file that it shows in a snapshot's folder."""
_BESIDE = re.compile(r"\.(?:gitattributes|DS_Store|git/.*|cache/.*|partial-[0-9]+/.*)")
"""What downloads and file managers put beside a dataset, and nothing reads as one."""


class _Listed(msgspec.Struct, frozen=True):
    """manifest.json of a dataset that has no sums yet."""

    files: dict[str, dict[str, int | str]]


def reaches_out(storage: Storage) -> Iterator[str]:
    """A line for each thing in a dataset's folder that has `datasets` read, or run, what its sums
    do not name.
    """
    nothing = "load nothing of this dataset"

    for name in (*STEERING, f"{Path(storage.root).name}.py"):
        if storage.size(name) is not None:
            yield (
                f"{storage.path(name)}: `datasets` would read or run it, and synth writes none; "
                f"{nothing}"
            )

    try:
        configs = _configs(storage)
    except (UnicodeDecodeError, SynthError):
        yield (
            f"{storage.path(CARD)}: its front matter cannot be read, so nobody knows what would "
            f"be loaded; {nothing}"
        )

        return

    # a pattern may be named more than once
    given = [[one.get("data_files"), one.get("data_dir")] for one in configs]

    for path in dict.fromkeys(texts_in(given)):
        if leads_out(path):
            yield (
                f"{storage.path(CARD)}: its configs name {path!r}, which no line of {SUMS} can; "
                f"{nothing}"
            )


def leads_out(path: str) -> bool:
    """Whether a path or pattern may lead out of the folder, or to what is hidden in it and has no
    sum.

    Patterns whose parts begin with no dot find no hidden files, and all others have sums.
    """
    hidden = any(part.startswith(".") and part != "." for part in path.split("/"))
    return hidden or path.startswith("/") or any(sign in path for sign in (":", "\\", "\0"))


def _configs(storage: Storage) -> list[dict[str, Any]]:
    from synth.schemas.text.yaml_text import read_yaml

    if storage.size(CARD) is None:
        return []

    front = _FRONT.match(storage.read(CARD).decode())
    said = read_yaml(front[1], CARD) if front is not None else None
    configs = said.get("configs") if isinstance(said, dict) else None
    listed = configs if isinstance(configs, list) else [configs]

    return [one for one in listed if isinstance(one, dict)]


def texts_in(value: Any) -> Iterator[str]:
    """Every text in it."""
    if isinstance(value, str | PurePath):
        yield str(value)
    elif isinstance(value, list | tuple | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts_in(inner)


def sums_text(digests: Mapping[str, str]) -> bytes:
    """The file's bytes, by the SHA-256 of each name; the same for the same files."""
    return "".join(f"{sha}  {name}\n" for name, sha in sorted(digests.items())).encode()


def read_sums(storage: Storage) -> dict[str, str]:
    """Digest by name. Raises `DamagedError` for text that is none, and `FileNotFoundError`."""
    blob, found = storage.read(SUMS), dict[str, str]()

    try:
        lines, problem = blob.decode().split("\n"), ""
    except UnicodeDecodeError:
        lines, problem = [], "it is no text"

    if not problem and (lines.pop() or not lines):
        problem = "it is cut off, or empty"

    for line in lines:
        told = _LINE.fullmatch(line)

        if told is None or told[2] in found or ".." in told[2].split("/"):
            problem = problem or "a line of it is none"
        else:
            found[told[2]] = told[1]

    if not problem and list(found) != sorted(found):
        problem = "its lines are not in order"

    if problem:
        raise DamagedError(f"{storage.path(SUMS)}: damaged ({problem}); {AGAIN}")

    return found


def names_dataset(storage: Storage) -> bool:
    """Whether sums that synth wrote lie in a folder, be it without the files that they name."""
    try:
        return {CARD, MANIFEST} <= set(read_sums(storage))
    except (FileNotFoundError, DamagedError):
        return False


def is_dataset(storage: Storage) -> bool:
    """Whether a folder is a dataset that synth wrote, by what lies in it."""
    listed = [storage.size(name) is not None for name in (SUMS, MANIFEST, CARD)]
    return listed[0] or all(listed[1:])


def folder_problems(storage: Storage) -> Iterator[str]:
    """A line for each file of a dataset's folder that is not as its SHA256SUMS says, and for each
    that it does not name.

    Where all are, one for what has `datasets` read elsewhere: no sums tell what would be loaded
    from there.
    """
    try:
        sums = read_sums(storage)
    except FileNotFoundError:
        yield from _without_sums(storage)

        return
    except DamagedError as error:
        yield str(error)

        return

    # a folder that differs is damaged, whatever its card says
    found = [*_unlike(storage, sums)]
    yield from found or reaches_out(storage)


def _unlike(storage: Storage, sums: Mapping[str, str]) -> Iterator[str]:
    belongs = {sha: name for name, sha in sums.items()}

    for name, sha in sums.items():
        wrong = _wrong(storage, name, sha)
        held = belongs.get(storage.sha256(name)) if wrong == _OTHER else None
        wrong = f"holds what belongs at {held}" if held else wrong
        if wrong is not None:
            yield f"{storage.path(name)}: {wrong}; {AGAIN}"

    for name in storage.tree(""):
        if name not in sums and name != SUMS and not _BESIDE.fullmatch(name):
            yield (
                f"{storage.path(name)}: {SUMS} does not name it; move it away before anybody "
                "reads the folder"
            )


_OTHER = "damaged (its bytes are not those that were written)"


def _wrong(storage: Storage, name: str, sha: str) -> str | None:
    size = storage.size(name)
    if size is None:
        return "missing"
    # the Hub's cache shows its files through links, and no other link is trusted
    if not storage.is_link(name):
        return fault(storage, name, WrittenFile(size, sha))
    if not _CACHED.fullmatch(str(Path(storage.root, name).readlink())):
        return "a link to another place"

    return None if storage.sha256(name) == sha else _OTHER


def _without_sums(storage: Storage) -> Iterator[str]:
    """Datasets of earlier versions name their rows alone; nothing tells one from a dataset whose
    sums were deleted.
    """
    sums = storage.path(SUMS)

    try:
        listed = msgspec.json.decode(storage.read(MANIFEST), type=_Listed)
    except (FileNotFoundError, msgspec.DecodeError):
        yield f"{sums}: missing, and nothing else names the files of this dataset; {AGAIN}"

        return

    yield (
        f"{sums}: missing (deleted, or of a version of synth that wrote none), so README.md and "
        f"manifest.json are not compared; {AGAIN}, or export it again"
    )

    for name, file in listed.files.items():
        if storage.size(name) is None or digest(storage.read(name)) != file.get("digest"):
            yield (
                f"{storage.path(name)}: missing or damaged (its bytes are not those that "
                f"manifest.json names); {AGAIN}"
            )
