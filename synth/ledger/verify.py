"""Every byte of a run compared with what was committed: manifest lines one by one, packs with the lines, shard files with their digests."""

from collections.abc import Iterator
from dataclasses import dataclass

from schemas.errors import ConfigError, DamagedError
from synth.ledger import manifest, packs
from synth.ledger.presence import Presence
from synth.ledger.shard_files import ShardFiles
from synth.ledger.state import LedgerState
from synth.ledger.storage import Storage


@dataclass(slots=True)
class Verified:
    """What was read so far."""

    lines: int = 0
    packs: int = 0
    files: int = 0
    bytes: int = 0


def problems(storage: Storage, verified: Verified) -> Iterator[str]:
    """A line per file that is damaged or missing, each with what to do. Raises `ConfigError` where there is no run."""
    packed = set(storage.names(packs.FOLDER))  # before the lines: those of a run that goes on are written before their packs
    listed = manifest.listed(storage)
    if not listed:
        raise ConfigError(f"{storage.url}: holds no run")
    state, presence, files = LedgerState(), Presence(storage), ShardFiles(storage)
    block: list[bytes | None] = []
    history: str | None = ""
    for number in range(max(listed) + 1):
        verified.lines += 1
        blob = manifest.read_stored(storage, number)
        try:
            if blob is None:
                raise manifest.missing_error(storage, number)
            line = manifest.decoded(storage, number, blob)
            state.fold(line, presence.missing(manifest.paths(line)))
        except DamagedError as error:
            yield f"{error}{_copy(storage, number)}"
            blob = history = None
        block.append(blob)
        if blob is not None and history is not None:
            history = packs.history_after(history, blob)
        for size in packs.SIZES:
            name = packs.name_of(number + 1 - size, size)
            if (number + 1) % size == 0 and name.rpartition("/")[2] in packed:
                verified.packs += 1
                if not _copies(storage.read(name), block[-size:], history):
                    yield f"{storage.path(name)}: is no copy of those lines of the manifest, and is not read; nothing is lost: delete it"
        if len(block) == max(packs.SIZES):
            block = []
    for name in sorted(packed):
        if name.partition("-")[2].isdecimal() and int(name.partition("-")[2]) > max(listed):
            yield f"{storage.path(f'{packs.FOLDER}/{name}')}: copies manifest lines that are no longer there; restore those from a backup"
    for shard in state.shards:
        for file in shard.files.values():
            verified.files += 1
            verified.bytes += file.bytes
            try:
                files.verify(file)
            except DamagedError as error:
                yield str(error)
    yield from state.lost


def _copies(blob: bytes, lines: list[bytes | None], history: str | None) -> bool:
    """Whether a pack holds these lines; of those that are damaged (None), and of what came before them, nothing can be said."""
    found = packs.unpacked(blob)
    if found is None or len(found[0]) != len(lines):
        return False
    return all(line in (copy, None) for copy, line in zip(found[0], lines, strict=True)) and history in (found[1], None)


def _copy(storage: Storage, number: int) -> str:
    """Where a pack holds a line as it was written."""
    for size in packs.SIZES:
        name = packs.name_of(number - number % size, size)
        try:
            found = packs.unpacked(storage.read(name))
        except FileNotFoundError:
            continue
        if found is not None and len(found[0]) == size:
            return f"; {storage.path(name)} holds it as it was written, in line {packs.HEAD + number % size + 1} of the file"
    return ""
