"""A data set folder: shards, card, manifest and sums, written aside and then put in place, never
over what synth did not write.

The order (shards, card, manifest, sums, then what they replace is removed) keeps the folder
readable at every moment: the card lists its
shards by name, and their names hold the digest of the rows. SHA256SUMS names all other files as
`sha256sum -c` reads them.
"""

import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping
from os import getpid
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import msgspec

from synth.exporters.kind import Form, Spelling, as_key
from synth.exporters.shards import (
    ShardFile,
    is_shard,
    write_rows,
    writing,
)
from synth.exporters.sums import SUMS, names_dataset, sums_text
from synth.ledger.atomic_write import written_file
from synth.ledger.log.manifest import WrittenFile
from synth.ledger.log.verify_written import CARD
from synth.ledger.storage import Storage, process_lives
from synth.schemas.canonical import digest
from synth.schemas.errors import ConfigError

MANIFEST = "manifest.json"
Named = Callable[[Mapping[str, WrittenFile]], None]
"""Told what all files of a data set will be, before any of them is put in its place."""
Replace = Literal["nothing", "written", "edited"]
"""What an export may replace: nothing, a data set that synth wrote, or one whose card was edited by
hand as well.
"""
_WRITTEN_BY = "synth"
_SEAL = re.compile(
    r"\n<!-- written by synth ([0-9a-f]{32}); an edited card is not replaced unasked -->\n\Z"
)


class Manifest(msgspec.Struct, frozen=True):
    """manifest.json, as far as it is read again; `stage_key` says which stage of which flow wrote
    it.
    """

    written_by: str
    files: dict[str, ShardFile]
    stage_key: str | None = None
    form: str = ""
    settings: dict[str, Any] = {}


class DatasetFolder:
    """Used as a context manager: what was not committed leaves nothing behind. Raises `ConfigError`
    for what it must not replace.

    `url` is a path or anything that fsspec opens. Files of others beside a data set of ours are
    left alone. `named`: commits the digests
    to a run; `ours`: what its ledger says that stands here, or was begun to be put here.
    """

    def __init__(
        self,
        url: str | Path,
        *,
        replace: Replace = "nothing",
        stage_key: str | None = None,
        say: Spelling = as_key,
        named: Named = lambda files: None,
        ours: Collection[str] = (),
    ) -> None:
        self._storage = Storage(str(url), "dataset folder")
        self._url = self._storage.url
        self._local = Path(self._storage.root).resolve() if self._storage.local else None
        self._replace = replace
        self._stage_key = stage_key
        self._say = say
        self._named = named
        self._known = frozenset(ours)
        self._found = self._ours()
        self.files: dict[str, ShardFile] = {}

    def __enter__(self) -> "DatasetFolder":
        with writing(self._url):
            self._aside = self._folder_aside()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        shutil.rmtree(self._aside, ignore_errors=True)

    def write(self, records: Iterable[Mapping[str, Any]], form: Form, rows_per_shard: int) -> None:
        """Writes all rows aside, in the form's layout; see `synth.exporters.shards`."""
        self.files = write_rows(self._aside, records, form, rows_per_shard, self._url)
        for name, blob in form.beside(tuple(self.files)).items() if self.files else ():
            self.add(name, blob)

    def add(self, name: str, blob: bytes) -> None:
        """One more file of the data set."""
        with writing(self._url):
            (self._aside / name).write_bytes(blob)
        self.files[name] = ShardFile.of(blob)

    def refuse(self) -> tuple[Manifest | None, bool, bool]:
        """(manifest that stands here, whether it is of the same rows, whether its card was edited).
        Raises `ConfigError`: it must stay.
        """
        before = read_manifest(self._storage)
        same = before is not None and before.files == self.files
        of_a_flow = before is not None and before.stage_key not in (None, self._stage_key)
        if before is not None and (of_a_flow or not same) and self._replace == "nothing":
            held = "a dataset that a flow wrote" if of_a_flow else "another dataset"
            raise ConfigError(
                f"{self._url}: holds {held}; choose another folder, or replace it with "
                f"{self._say('overwrite')}"
            )
        edited = self._edited()
        if edited and not same and self._replace != "edited":
            raise ConfigError(
                f"{self._url}/{CARD}: edited by hand; rename it first, or have it written anew "
                f"with {self._say('overwrite')}"
            )
        return before, same, edited

    def commit(self, card: str, described: Mapping[str, Any]) -> tuple[str, ...]:
        """Puts everything in its place; the names of the files. The same rows again change nothing,
        not even an edited card.
        """
        before, _, edited = self.refuse()
        key = {} if self._stage_key is None else {"stage_key": self._stage_key}
        manifest = msgspec.json.encode(
            {"written_by": _WRITTEN_BY, **key, **described, "files": self.files}
        )
        with writing(self._url):
            (self._aside / CARD).write_text(_sealed(card), encoding="utf-8")
            (self._aside / MANIFEST).write_bytes(msgspec.json.format(manifest) + b"\n")
            sums = {
                name: written_file(self._aside / name)
                for name in sorted((*self.files, CARD, MANIFEST))
            }
            (self._aside / SUMS).write_bytes(sums_text(sums))
        self._named({**sums, SUMS: written_file(self._aside / SUMS)})
        with writing(self._url):
            names = [*self.files, CARD, MANIFEST, SUMS]
            self._put(
                [
                    name
                    for name in names
                    if not (name == CARD and edited and self._replace != "edited")
                ]
            )
            stale = {name for name in self._found if is_shard(name) or name in self._known}
            stale |= set(before.files) if before is not None else set()
            for name in sorted(stale - set(names)):
                self._storage.discard(name)
        return tuple(names)

    def _folder_aside(self) -> Path:
        """A fresh folder on the file system of the target; what processes that died had left aside
        is removed.
        """
        if (out := self._local) is None:
            return Path(tempfile.mkdtemp(prefix="synth-export-"))
        inside, beside = ".partial-", f".{out.name}.partial-"
        out.parent.mkdir(parents=True, exist_ok=True)
        for left in [*out.glob(f"{inside}*"), *out.parent.glob(f"{beside}*")]:
            if not process_lives(left.name.rpartition("-")[2]):
                shutil.rmtree(left, ignore_errors=True)
        aside = out / f"{inside}{getpid()}" if out.exists() else out.parent / f"{beside}{getpid()}"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        return aside

    def _put(self, names: list[str]) -> None:
        """Moves or copies files from aside, those that stand already excepted."""
        if self._local is None:
            self._storage.fs.makedirs(self._storage.root, exist_ok=True)
        elif not self._local.exists():
            self._aside.replace(self._local)
            return
        for name in names:
            if self._stands(name):
                continue
            if self._local is not None:
                (self._local / name).parent.mkdir(exist_ok=True)
                (self._aside / name).replace(self._local / name)
            else:
                self._storage.fs.makedirs(
                    f"{self._storage.root}/{name}".rpartition("/")[0], exist_ok=True
                )
                self._storage.fs.put_file(str(self._aside / name), f"{self._storage.root}/{name}")

    def _stands(self, name: str) -> bool:
        blob = (self._aside / name).read_bytes()
        return self._storage.size(name) == len(blob) and self._storage.read(name) == blob

    def _ours(self) -> list[str]:
        """Names in the folder. Raises `ConfigError` where it holds something and is no data set of
        ours.
        """
        fs, root = self._storage.fs, self._storage.root
        with writing(self._url):
            if not fs.exists(root):
                return []
            names = sorted(
                path.rstrip("/").rpartition("/")[2] for path in fs.ls(root, detail=False)
            )
        names = [name for name in names if not name.startswith(".partial-")]
        known = {name.partition("/")[0] for name in self._known} | (
            {SUMS} if names_dataset(self._storage) else set()
        )
        strangers = [
            name
            for name in names
            if not is_shard(name) and name not in known and (name != CARD or self._edited())
        ]
        if strangers and read_manifest(self._storage) is None:
            raise ConfigError(
                f"{self._url}: holds {strangers[0]}, which synth did not write; choose another "
                "folder"
            )
        return names

    def _edited(self) -> bool:
        """Whether a card stands here that is not as synth wrote it."""
        try:
            card = self._storage.read(CARD).decode(errors="replace")
        except FileNotFoundError:
            return False
        seal = _SEAL.search(card)
        return seal is None or seal[1] != digest(card[: seal.start()].encode())


def read_manifest(storage: Storage) -> Manifest | None:
    """The manifest of the data set that stands here, or None where there is none of ours."""
    try:
        manifest = msgspec.json.decode(storage.read(MANIFEST), type=Manifest)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    if any(
        name.startswith("/") or {"", ".", ".."} & set(name.split("/")) for name in manifest.files
    ):
        return (
            None  # what it names is read, sent and replaced: none of ours leads out of its folder
        )
    return manifest if manifest.written_by == _WRITTEN_BY else None


def why_to_write(url: str, stage_key: str) -> str | None:
    """Why a stage has to write its data set (again), or None where it stands whole; local shards
    are compared with their digests.
    """
    storage = Storage(url)
    manifest = read_manifest(storage)
    if manifest is None:
        return f"{storage.url}: no dataset stands there"
    if manifest.stage_key != stage_key:
        return f"{storage.url}: holds another export"
    if storage.size(CARD) is None:
        return f"{storage.url}/{CARD}: missing"
    for name, file in manifest.files.items():
        size = storage.size(name)
        if size != file.bytes or (storage.local and digest(storage.read(name)) != file.digest):
            return f"{storage.url}/{name}: {'missing' if size is None else 'damaged'}"
    return None


def _sealed(card: str) -> str:
    """A card with a last line that tells whether it was edited since."""
    return (
        f"{card}\n<!-- written by synth {digest(card.encode())}; an edited card is not "
        "replaced unasked -->\n"
    )
