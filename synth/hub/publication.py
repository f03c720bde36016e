"""What lies in the repository: shards by configuration, traces, the card, and a list of all of it
that a rerun compares with.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import msgspec
from huggingface_hub.utils.sha import git_hash

from synth.exporters.folder.sums import SUMS, sums_text
from synth.ledger.atomic_write import written_file
from synth.ledger.log.verify_written import CARD
from synth.schemas import front_matter

LIST = "publication.json"
UNFINISHED = "unfinished"
FILES_PER_COMMIT = 1000
BYTES_PER_COMMIT = 20 * 10**9
"""The Hub takes 25,000 files per commit and 1 GB of those that it keeps in git itself, which only
cards and traces are.
"""


class File:
    """A file that goes out, on this disk or in memory, under its path in the repository."""

    def __init__(self, path: str, content: Path | bytes) -> None:
        self.path = path
        self.content = content

    @cached_property
    def size(self) -> int:
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size

    @cached_property
    def sha256(self) -> str:
        """As the Hub names files that it keeps apart."""
        return written_file(self.content).sha256

    @property
    def text(self) -> str:
        """Of a file in memory."""
        assert isinstance(self.content, bytes)
        return self.content.decode()

    @cached_property
    def blob_id(self) -> str:
        """As git names a file, which the Hub keeps small ones by."""
        content = self.content
        return git_hash(content if isinstance(content, bytes) else content.read_bytes())


class Remote(msgspec.Struct, frozen=True):
    """A repository as it is: commit, whether all may read it, and path -> (size, SHA-256 or None,
    git's id).
    """

    repo: str
    head: str
    private: bool
    files: Mapping[str, tuple[int, str | None, str]]

    def holds(self, file: File) -> bool:
        """Whether a file stands there with these bytes."""
        found = self.files.get(file.path)
        if found is None or found[0] != file.size:
            return False
        return found[1] == file.sha256 if found[1] is not None else found[2] == file.blob_id


class Listed(msgspec.Struct, frozen=True):
    """publication.json: path -> SHA-256 of all that synth wrote to the repository; `whole` once the
    last commit is made.
    """

    written_by: str
    whole: bool
    rows: Mapping[str, int]
    files: Mapping[str, str]


class Publication(msgspec.Struct, frozen=True):
    """Everything that goes out; `rows` by configuration; `skills` are files of texts beside the
    shards, in no configuration.

    `licence`: the card's keys that tell the Hub of it.
    """

    shards: tuple[File, ...]
    traces: tuple[File, ...]
    card: File
    rows: Mapping[str, int]
    licence: Mapping[str, str]
    skills: tuple[File, ...] = ()

    @property
    def data(self) -> tuple[File, ...]:
        return (*self.shards, *self.skills, *self.traces)

    @property
    def digest(self) -> str:
        """The same for the same content, whatever was there before."""
        return hashlib.sha256(
            "".join(f"{file.path} {file.sha256}\n" for file in (*self.data, self.card)).encode()
        ).hexdigest()

    def listed(self) -> File:
        """The list of a publication that is whole."""
        files = {file.path: file.sha256 for file in (*self.data, self.card)}
        return File(LIST, list_text(Listed("synth", True, self.rows, files)))

    @property
    def sums(self) -> File:
        """What a consumer checks all files with, the list among them."""
        named = {file.path: file.sha256 for file in (*self.data, self.card, self.listed())}
        return File(SUMS, sums_text(named))

    def begun(self, before: Listed | None, card: str) -> tuple[File, File]:
        """Card and list of one that is not: `card` stands until the rest is there, what stood
        before stays listed with it.
        """
        text = File(CARD, card.encode())
        files = {
            **(before.files if before is not None else {}),
            **{file.path: file.sha256 for file in self.data},
            CARD: text.sha256,
        }
        rows = before.rows if before is not None else {}
        return text, File(LIST, list_text(Listed("synth", False, rows, files)))

    def placeholder(self) -> str:
        """A card whose only configuration names a file that is never there: what is half there does
        not load.
        """
        nowhere = {
            "config_name": UNFINISHED,
            "data_files": [{"split": "train", "path": f"{UNFINISHED}/none.parquet"}],
        }
        return (
            front_matter({**self.licence, "configs": [nowhere]})
            + "This dataset is being published and is not whole yet; it cannot be loaded. If "
            "nothing has changed for hours, the "
            "publication was interrupted: whoever began it finishes it by running the same "
            "command again.\n"
        )


def list_text(listed: Listed) -> bytes:
    """Bytes that are the same for the same list."""
    return msgspec.json.format(msgspec.json.encode(listed, order="sorted")) + b"\n"


def parts(files: Sequence[File], most_files: int, most_bytes: int) -> Iterator[list[File]]:
    """Files in the order given, as many to a commit as its bounds allow."""
    part: list[File] = []
    for file in files:
        if part and (
            len(part) == most_files or sum(one.size for one in part) + file.size > most_bytes
        ):
            yield part
            part = []
        part.append(file)
    if part:
        yield part
