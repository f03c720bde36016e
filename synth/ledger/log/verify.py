"""Every byte of a run compared with what was committed: manifest lines one by one, checkpoints with
the lines, every file with its digest.
"""

import re
from collections.abc import Iterator

import msgspec

from synth.ledger.log import manifest, manifest_checkpoints
from synth.ledger.log.lost_shards import lost_lines
from synth.ledger.log.shard_files import ShardFiles
from synth.ledger.log.state import LedgerState
from synth.ledger.log.verify_written import written_problems
from synth.ledger.storage import TEMPORARY, Storage
from synth.ledger.tables import TABLES
from synth.schemas import ConfigError, DamagedError

CHAINED = 2
"""The format of runs from which on every line but the first says which lines it follows."""
_LINE, _CHECKPOINT = re.compile(r"[0-9]{8}"), re.compile(r"([0-9]{8})-([0-9]{8})")
_DELETE = "and is not read; nothing is lost: delete it"


class Verified(msgspec.Struct):
    """What was read so far; `history` goes to each line that could be read, `notes` say what could
    not be compared.
    """

    lines: int = 0
    packs: int = 0
    files: int = 0
    bytes: int = 0
    written: int = 0
    written_bytes: int = 0
    history: dict[str, int] = {}
    notes: list[str] = []


class _Lines:
    """The lines read so far, folded where they are as they were committed; `unread` are the numbers
    of the others.

    `_history` goes to the last line, None after one that could not be read; it is `_sure` once two
    lines agree on it. `_block` are the lines that a checkpoint may end with.
    """

    def __init__(self, storage: Storage, verified: Verified) -> None:
        self.state = LedgerState()
        self.unread: list[int] = []
        self._storage, self._verified = storage, verified
        # before the lines: those of a run that goes on are written before their checkpoints
        self._checkpoints = storage.names(manifest_checkpoints.FOLDER)
        self._present = storage.names(manifest.FOLDER)
        self._history: str | None = ""
        self._sure = True
        self._chained = False
        self._block: list[bytes | None] = []

    def read(self, last: int) -> Iterator[str]:
        """Reads on to a line; gives what is wrong with any."""
        files = ShardFiles(self._storage)
        for number in range(self._verified.lines, last + 1):
            self._verified.lines += 1
            blob = manifest.read_stored(self._storage, number)
            try:
                if blob is None:
                    raise manifest.missing_error(self._storage, number)
                line: manifest.Line | None = manifest.decoded(self._storage, number, blob)
                blamed = self._misplaced(number, blob)
                if blamed == number:
                    raise manifest.misplaced_error(self._storage, number)
                if blamed is not None:
                    self.unread.append(blamed)
                    wrong = manifest.misplaced_error(self._storage, blamed)
                    yield f"{wrong}{self._copy(blamed)[0]}"
            except DamagedError as error:
                blob = self._history = None
                told, copy = self._copy(number)
                yield f"{error}{told}"
                line = None
                if copy is None:
                    self.unread.append(number)
                else:
                    line = manifest.decoded(self._storage, number, copy)
            if line is not None:
                self.state.fold(line, files.missing(manifest.shard_paths(line)))
                self._chained |= self.state.format >= CHAINED
            if self._history is not None:
                self._verified.history[self._history] = number + 1
            self._block.append(blob)
            yield from self._checkpoint_problems(number)
            if len(self._block) == max(manifest_checkpoints.SIZES):
                self._block = []

    def _misplaced(self, number: int, blob: bytes) -> int | None:
        """The line that does not belong where it stands, if this one shows it: this one, or the one
        before it.
        """
        before, blamed = manifest.chained(blob), None
        if before is None:
            if self._chained:
                return number
            self._sure = False
        else:
            if self._sure and self._history not in (None, before):
                return number
            self._sure, self._chained = before == self._history, True
            blamed = None if self._history is None or self._sure else number - 1
            self._history = before

        if self._history is not None:
            self._history = manifest.history_after(self._history, blob)
        return blamed

    def _checkpoint_problems(self, number: int) -> Iterator[str]:
        """Compares the checkpoints that end with a line; of lines that are damaged (None), and of
        what came before them, nothing can be said.
        """
        for size in manifest_checkpoints.SIZES:
            name = manifest_checkpoints.name_of(number, size)
            if (number + 1) % size or name.rpartition("/")[2] not in self._checkpoints:
                continue
            self._verified.packs += 1
            found = manifest_checkpoints.read(self._storage, number, size)
            if (
                found is None
                or self._history not in (found[1], None)
                or any(
                    line not in (copy, None)
                    for copy, line in zip(found[0], self._block[-size:], strict=True)
                )
            ):
                where = self._storage.path(name)
                yield f"{where}: is no copy of those lines of the manifest, {_DELETE}"

    def _copy(self, number: int) -> tuple[str, bytes | None]:
        """Where a checkpoint holds a line as it was written, as the end of a sentence, and its
        bytes.
        """
        for size in manifest_checkpoints.SIZES:
            found = manifest_checkpoints.read(self._storage, number, size)
            at = number % size
            if found and found[0][at] != manifest.read_stored(self._storage, number):
                where = self._storage.path(manifest_checkpoints.name_of(number, size))
                place = f"in line {manifest_checkpoints.HEAD + at + 1} of the file"
                return f"; {where} holds it as it was written, {place}", found[0][at]
        return "", None

    def strays(self, last: int) -> Iterator[str]:
        """What lies among the lines and checkpoints under a name that none of them has."""
        for name in sorted(self._present):
            where = f"{manifest.FOLDER}/{name}"
            if not (
                _LINE.fullmatch(name)
                or name.startswith(TEMPORARY)
                or where == manifest_checkpoints.FOLDER
            ):
                yield (
                    f"{self._storage.path(where)}: is no manifest line by its name, and is not "
                    "read; was it renamed? give it its number back, else move it away"
                )

        for name in sorted(self._checkpoints):
            if name.startswith(TEMPORARY):
                continue
            where = self._storage.path(f"{manifest_checkpoints.FOLDER}/{name}")
            found = _CHECKPOINT.fullmatch(name)
            first, end = map(int, found.groups()) if found else (0, -1)
            size = end + 1 - first
            if size not in manifest_checkpoints.SIZES or first % size:
                yield f"{where}: is no pack by its name, {_DELETE}"
            elif end > last:
                yield (
                    f"{where}: copies manifest lines that are no longer there; restore those from "
                    "a backup"
                )

    def note_left(self) -> None:
        """Notes shard files that no line names: killed writers leave them, or their lines were cut
        off.
        """
        shards = (*self.state.shards, *(line for _, line in self.state.lost_shards))
        named = {path for shard in shards for path in manifest.shard_paths(shard)}
        lying = (f"{table}/{name}" for table in TABLES for name in self._storage.names(table))
        left = [path for path in lying if path.endswith(".parquet") and path not in named]
        if left and not self.unread:
            more = f" and {len(left) - 1} more" if len(left) > 1 else ""
            self._verified.notes.append(
                f"{self._storage.path(left[0])}{more}: no manifest line names it; a writer that is "
                "at work or was killed leaves such files, which are part of nothing; else lines "
                "were cut off the manifest (--expect tells)"
            )


def problems(storage: Storage, verified: Verified) -> Iterator[str]:
    """A line per file that is damaged or missing, each with what to do. Raises `ConfigError` where
    there is no run.
    """
    lines, files = _Lines(storage, verified), ShardFiles(storage)
    last = max(manifest.listed(storage), default=None)
    if last is None:
        raise ConfigError(f"{storage.url}: holds no run, and no dataset of one")
    yield from lines.read(last)
    yield from lines.strays(last)

    for file in (file for shard in lines.state.shards for file in shard.files.values()):
        verified.files += 1
        verified.bytes += file.bytes
        try:
            files.verify(file)
        except DamagedError as error:
            yield str(error)

    while True:
        found = [*written_problems(storage, lines.state, verified, lines.unread)]
        if not found or not manifest.goes_on(storage, last):
            break
        # of a run that goes on meanwhile, files are newer than the lines that were read
        last = max(manifest.listed(storage))
        yield from lines.read(last)

    yield from found
    yield from lost_lines(lines.state)
    lines.note_left()
