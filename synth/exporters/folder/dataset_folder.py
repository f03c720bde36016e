"""A data set folder: shards, card, manifest and sums, written aside and then put in place, never
over what synth did not write.

The order (shards, card, manifest, sums, then what they replace is removed) keeps the folder
readable at every moment: the card lists its shards by name, and their names hold the digest of the
rows. SHA256SUMS names all other files as `sha256sum -c` reads them.
"""

import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from os import getpid
from pathlib import Path
from typing import Any, Literal, Self

import msgspec

from synth.exporters.folder.manifest import WRITTEN_BY, Manifest, read_manifest
from synth.exporters.folder.series import writing
from synth.exporters.folder.shards import ShardFile, is_shard, write_rows
from synth.exporters.folder.sums import MANIFEST, SUMS, names_dataset, sums_text
from synth.exporters.form import Form
from synth.exporters.kind import Spelling, as_key
from synth.ledger.atomic_write import written_file
from synth.ledger.log.manifest import WrittenFile
from synth.ledger.log.verify_written import CARD, fault
from synth.ledger.storage import Storage, process_lives
from synth.schemas import ConfigError, digest

Named = Callable[[Mapping[str, WrittenFile]], None]
"""Told what all files of a data set will be, before any of them is put in its place."""
Replace = Literal["nothing", "written", "edited"]
"""What an export may replace: nothing, a data set that synth wrote, or one whose card was edited by
hand as well.
"""
_SEAL = "\n<!-- written by synth {}; an edited card is not replaced unasked -->\n"
_SEALED = re.compile(_SEAL.format("([0-9a-f]{32})") + r"\Z")
"""The last line of a card, which tells whether it was edited since."""


@dataclass
class DatasetFolder:
    """Used as a context manager: what was not committed leaves nothing behind. Raises `ConfigError`
    for what it must not replace.

    `url` is a path or anything that fsspec opens. Files of others beside a data set of ours are
    left alone. `named`: commits the digests to a run; `ours`: what its ledger says that stands
    here, or was begun to be put here. `files`: what was written aside.
    """

    url: str | Path
    _: KW_ONLY
    replace: Replace = "nothing"
    stage_key: str | None = None
    say: Spelling = as_key
    named: Named = lambda files: None
    ours: Collection[str] = ()
    files: dict[str, ShardFile] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._storage = Storage(str(self.url), "dataset folder")
        self._url = self._storage.url
        self._local = Path(self._storage.root).resolve() if self._storage.local else None
        self._found = self._standing()

    def __enter__(self) -> Self:
        with writing(self._url):
            self._aside = self._folder_aside()

        return self

    def __exit__(self, *raised: object) -> None:
        shutil.rmtree(self._aside, ignore_errors=True)

    def write(self, records: Iterable[Mapping[str, Any]], form: Form, rows_per_shard: int) -> None:
        """Writes all rows aside, in the form's layout; see `synth.exporters.folder.shards`."""
        self.files = write_rows(self._aside, records, form, rows_per_shard, self._url)
        for name, blob in form.beside(tuple(self.files)).items() if self.files else ():
            self.add(name, blob)

    def add(self, name: str, blob: bytes) -> None:
        """One more file of the data set."""
        with writing(self._url):
            (self._aside / name).write_bytes(blob)
        self.files[name] = ShardFile.of(blob)

    def refuse(self) -> tuple[Manifest | None, bool]:
        """(manifest that stands here, whether a card that was edited is to stay). Raises
        `ConfigError`: it must stay.
        """
        before = read_manifest(self._storage)
        same = before is not None and before.files == self.files
        of_a_flow = before is not None and before.stage_key not in (None, self.stage_key)

        if before is not None and (of_a_flow or not same) and self.replace == "nothing":
            held = "a dataset that a flow wrote" if of_a_flow else "another dataset"
            raise ConfigError(
                f"{self._url}: holds {held}; choose another folder, or replace it with "
                f"{self.say('overwrite')}"
            )

        # the same rows again change nothing, so an edited card is in nobody's way
        edited = self.replace != "edited" and self._edited()

        if edited and not same:
            raise ConfigError(
                f"{self._url}/{CARD}: edited by hand; rename it first, or have it written anew "
                f"with {self.say('overwrite')}"
            )

        return before, edited

    def commit(self, card: str, described: Mapping[str, Any]) -> tuple[str, ...]:
        """Puts everything in its place; the names of the files. The same rows again change nothing,
        not even an edited card.
        """
        before, edited = self.refuse()
        key = {} if self.stage_key is None else {"stage_key": self.stage_key}
        # nothing of the clock or of this machine: the same rows give the same files
        manifest = msgspec.json.encode(
            {"written_by": WRITTEN_BY, **key, **described, "files": self.files}
        )
        names = (*self.files, CARD, MANIFEST)
        with writing(self._url):
            written = self._written_aside(names, card, manifest)

        # the run knows the files before any of them stands: what is there unnamed was damaged
        self.named(written)

        with writing(self._url):
            put = [name for name in (*names, SUMS) if not (name == CARD and edited)]
            self._put({name: written[name] for name in put})
            # what stood here before and is no part of it any more
            stale = {name for name in self._found if is_shard(name) or name in self.ours}
            stale |= set() if before is None else before.files.keys()
            for name in sorted(stale - written.keys()):
                self._storage.discard(name)

        return (*names, SUMS)

    def _written_aside(
        self, names: Collection[str], card: str, manifest: bytes
    ) -> dict[str, WrittenFile]:
        """Card, manifest and sums beside the rows; what the run is told of all files."""
        sealed = card + _SEAL.format(digest(card.encode()))
        (self._aside / CARD).write_text(sealed, encoding="utf-8")
        (self._aside / MANIFEST).write_bytes(msgspec.json.format(manifest) + b"\n")
        written = {name: written_file(self._aside / name) for name in sorted(names)}
        digests = {name: file.sha256 for name, file in written.items()}
        (self._aside / SUMS).write_bytes(sums_text(digests))
        return written | {SUMS: written_file(self._aside / SUMS)}

    def _folder_aside(self) -> Path:
        """A fresh folder on the file system of the target; what processes that died had left aside
        is removed.
        """
        if (out := self._local) is None:
            return Path(tempfile.mkdtemp(prefix="synth-export-"))

        inside, beside = ".partial-", f".{out.name}.partial-"
        out.parent.mkdir(parents=True, exist_ok=True)

        # folders of processes that still write are left to them
        for left in [*out.glob(f"{inside}*"), *out.parent.glob(f"{beside}*")]:
            if not process_lives(left.name.rpartition("-")[2]):
                shutil.rmtree(left, ignore_errors=True)

        aside = out / f"{inside}{getpid()}" if out.exists() else out.parent / f"{beside}{getpid()}"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()

        return aside

    def _put(self, files: Mapping[str, WrittenFile]) -> None:
        """Moves or copies files from aside, those that stand already excepted."""
        # one move makes the whole folder stand at once
        if self._local is not None and not self._local.exists():
            self._aside.replace(self._local)

            return

        fs, root = self._storage.fs, self._storage.root

        for name, file in files.items():
            if fault(self._storage, name, file) is None:
                continue

            if self._local is not None:
                (self._local / name).parent.mkdir(exist_ok=True)
                (self._aside / name).replace(self._local / name)
            else:
                fs.makedirs(f"{root}/{name}".rpartition("/")[0], exist_ok=True)
                fs.put_file(str(self._aside / name), f"{root}/{name}")

    def _standing(self) -> list[str]:
        """Names in the folder. Raises `ConfigError` where it holds something and is no data set of
        ours.
        """
        fs, root = self._storage.fs, self._storage.root
        with writing(self._url):
            paths = fs.ls(root, detail=False) if fs.exists(root) else []

        names = sorted(path.rstrip("/").rpartition("/")[2] for path in paths)
        names = [name for name in names if not name.startswith(".partial-")]
        # files of a dataset that was broken off are ours too, whether a manifest names them or not
        known = {name.partition("/")[0] for name in self.ours}
        known |= {SUMS} if names and names_dataset(self._storage) else set()
        known |= {CARD} if CARD in names and not self._edited() else set()
        strangers = [name for name in names if not is_shard(name) and name not in known]

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

        seal = _SEALED.search(card)

        return seal is None or seal[1] != digest(card[: seal.start()].encode())
