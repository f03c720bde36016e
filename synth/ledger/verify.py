"""Every byte of a run compared with what was committed: manifest lines one by one, packs with the
lines, every file with its digest.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from synth.ledger import manifest, packs
from synth.ledger.presence import Presence
from synth.ledger.shard_files import ShardFiles
from synth.ledger.state import LedgerState
from synth.ledger.storage import TEMPORARY, Storage
from synth.ledger.tables import TABLES
from synth.ledger.verify_written import written_problems
from synth.schemas.errors import ConfigError, DamagedError

CHAINED = 2
"""The format of runs from which on every line but the first says which lines it follows."""
_LINE, _PACK = re.compile(r"[0-9]{8}"), re.compile(r"[0-9]{8}-[0-9]{8}")


@dataclass(slots=True)
class Verified:
    """What was read so far; `history` goes to each line that could be read, `notes` say what could
    not be compared.
    """

    lines: int = 0
    packs: int = 0
    files: int = 0
    bytes: int = 0
    written: int = 0
    written_bytes: int = 0
    history: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Chain:
    """Which lines fit their neighbours; `history` None after a line that could not be read, `sure`
    once two lines agree on it.
    """

    history: str | None = ""
    sure: bool = True
    chained: bool = False

    def misplaced(self, number: int, blob: bytes) -> int | None:
        """The line that does not belong where it stands, if this one shows it: this one, or the one
        before it.
        """
        before, blamed = manifest.chained(blob), None
        if (before is None and self.chained) or (
            before not in (None, self.history) and self.history is not None and self.sure
        ):
            self.history = None
            return number
        if before is None:
            self.sure = False
        else:
            blamed = number - 1 if self.history not in (None, before) else None
            self.sure, self.chained = before == self.history, True
            self.history = before
        if self.history is not None:
            self.history = packs.history_after(self.history, blob)
        return blamed


@dataclass(slots=True)
class _Lines:
    """The lines read so far, folded where they are as they were committed; `unread` are the numbers
    of the others.
    """

    storage: Storage
    verified: Verified
    packed: set[str]
    state: LedgerState = field(default_factory=LedgerState)
    unread: list[int] = field(default_factory=list)
    _chain: _Chain = field(default_factory=_Chain)
    _block: list[bytes | None] = field(default_factory=list)

    def read(self, last: int) -> Iterator[str]:
        """Reads on to a line; what is wrong with any."""
        presence = Presence(self.storage)
        for number in range(self.verified.lines, last + 1):
            self.verified.lines += 1
            blob = manifest.read_stored(self.storage, number)
            try:
                if blob is None:
                    raise manifest.missing_error(self.storage, number)
                line = manifest.decoded(self.storage, number, blob)
                blamed = self._chain.misplaced(number, blob)
                if blamed == number:
                    raise manifest.misplaced_error(self.storage, number)
                if blamed is not None:
                    self.unread.append(blamed)
                    yield f"{manifest.misplaced_error(self.storage, blamed)}{_told(_copy(self.storage, blamed))}"
                self.state.fold(line, presence.missing(manifest.paths(line)))
                self._chain.chained |= self.state.format >= CHAINED
            except DamagedError as error:
                copy = _copy(self.storage, number)
                yield f"{error}{_told(copy)}"
                if copy is None:
                    self.unread.append(number)
                else:
                    line = manifest.decoded(self.storage, number, copy[1])
                    self.state.fold(line, presence.missing(manifest.paths(line)))
                blob = self._chain.history = None
            self._block.append(blob)
            if self._chain.history is not None:
                self.verified.history[self._chain.history] = number + 1
            yield from _pack_problems(
                self.storage, self.verified, self.packed, number, self._block, self._chain.history
            )
            if len(self._block) == max(packs.SIZES):
                self._block = []


def problems(storage: Storage, verified: Verified) -> Iterator[str]:
    """A line per file that is damaged or missing, each with what to do. Raises `ConfigError` where
    there is no run.
    """
    packed = set(
        storage.names(packs.FOLDER)
    )  # before the lines: those of a run that goes on are written before their packs
    present = storage.names(manifest.FOLDER)
    last = max(manifest.listed(storage), default=None)
    if last is None:
        raise ConfigError(f"{storage.url}: holds no run, and no dataset of one")
    lines, files = _Lines(storage, verified, packed), ShardFiles(storage)
    yield from lines.read(last)
    yield from _strays(storage, present, packed, last)
    for shard in lines.state.shards:
        for file in shard.files.values():
            verified.files += 1
            verified.bytes += file.bytes
            try:
                files.verify(file)
            except DamagedError as error:
                yield str(error)
    found = [*written_problems(storage, lines.state, verified, lines.unread)]
    while found and manifest.goes_on(
        storage, last
    ):  # of a run that goes on meanwhile, files are newer than the lines that were read
        last = max(manifest.listed(storage))
        yield from lines.read(last)
        found = [*written_problems(storage, lines.state, verified, lines.unread)]
    yield from found
    yield from lines.state.lost
    _note_left(storage, lines)


def _pack_problems(
    storage: Storage,
    verified: Verified,
    packed: set[str],
    number: int,
    block: list[bytes | None],
    history: str | None,
) -> Iterator[str]:
    for size in packs.SIZES:
        name = packs.name_of(number + 1 - size, size)
        if (number + 1) % size == 0 and name.rpartition("/")[2] in packed:
            verified.packs += 1
            if not _copies(storage.read(name), block[-size:], history):
                yield (
                    f"{storage.path(name)}: is no copy of those lines of the manifest, and is "
                    "not read; nothing is lost: delete it"
                )


def _strays(storage: Storage, present: list[str], packed: set[str], last: int) -> Iterator[str]:
    """What lies among the lines and packs under a name that none of them has."""
    for name in sorted(present):
        if not (
            _LINE.fullmatch(name)
            or name.startswith(TEMPORARY)
            or f"{manifest.FOLDER}/{name}" == packs.FOLDER
        ):
            where = storage.path(f"{manifest.FOLDER}/{name}")
            yield (
                f"{where}: is no manifest line by its name, and is not read; was it renamed? "
                "give it its number back, else move it away"
            )
    for name in sorted(packed):
        where = storage.path(f"{packs.FOLDER}/{name}")
        if not _PACK.fullmatch(name):
            if not name.startswith(TEMPORARY):
                yield (
                    f"{where}: is no pack by its name, and is not read; nothing is lost: delete it"
                )
        elif int(name[9:]) > last:
            yield (
                f"{where}: copies manifest lines that are no longer there; restore those from "
                "a backup"
            )
        elif int(name[9:]) - int(name[:8]) + 1 not in packs.SIZES or int(name[:8]) % (
            int(name[9:]) - int(name[:8]) + 1
        ):
            yield f"{where}: is no pack by its name, and is not read; nothing is lost: delete it"


def _note_left(storage: Storage, lines: _Lines) -> None:
    """Shard files that no line names are what killed writers leave; or their lines were cut off."""
    state = lines.state
    shards = (*state.shards, *(line for _, line in state.lost_shards))
    named = {file.path for shard in shards for file in shard.files.values()}
    lying = [
        f"{table}/{name}"
        for table in TABLES
        for name in storage.names(table)
        if name.endswith(".parquet")
    ]
    left = [path for path in lying if path not in named]
    if left and not lines.unread:
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        lines.verified.notes.append(
            f"{storage.path(left[0])}{more}: no manifest line names it; a writer that is at work "
            "or was killed leaves such files, "
            "which are part of nothing; else lines were cut off the manifest (--expect tells)"
        )


def _copies(blob: bytes, lines: list[bytes | None], history: str | None) -> bool:
    """Whether a pack holds these lines; of those that are damaged (None), and of what came before
    them, nothing can be said.
    """
    found = packs.unpacked(blob)
    if found is None or len(found[0]) != len(lines):
        return False
    return all(
        line in (copy, None) for copy, line in zip(found[0], lines, strict=True)
    ) and history in (found[1], None)


def _told(copy: tuple[str, bytes] | None) -> str:
    return "" if copy is None else f"; {copy[0]}"


def _copy(storage: Storage, number: int) -> tuple[str, bytes] | None:
    """Where a pack holds a line as it was written, and its bytes."""
    for size in packs.SIZES:
        name = packs.name_of(number - number % size, size)
        try:
            found = packs.unpacked(storage.read(name))
        except FileNotFoundError:
            continue
        if (
            found is not None
            and len(found[0]) == size
            and found[0][number % size] != manifest.read_stored(storage, number)
        ):
            where = (
                f"{storage.path(name)} holds it as it was written, in line "
                f"{packs.HEAD + number % size + 1} of the file"
            )
            return where, found[0][number % size]
    return None
