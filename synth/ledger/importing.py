"""Imported files become part of a run, whole or not at all."""

import uuid
from collections.abc import Iterable, Sequence

from synth.ledger.ledger import Ledger
from synth.ledger.manifest import ImportedFile, ImportLine, RunLine, ShardLine
from synth.schemas.errors import SynthError


def commit_files(
    ledger: Ledger, files: Sequence[ImportedFile], shards: Sequence[ShardLine]
) -> None:
    """One line of the manifest for files and the shards that hold them; makes the run where there
    is none.

    Raises `SynthError` where another process imported the same meanwhile; its rows stand, these are
    removed.
    """
    line = ImportLine(tuple(files), tuple(shards))
    while True:
        if not ledger.refresh().lines:
            ledger.append(RunLine(uuid.uuid4().hex))
            continue
        if any(record.slot_id in ledger.state.slots for shard in shards for record in shard.slots):
            discard(ledger, shards)
            raise SynthError(
                f"{ledger.storage.url}: another import of the same files came first; run the "
                "command again for the rest"
            )
        if ledger.append(line):
            ledger.refresh()
            return


def discard(ledger: Ledger, shards: Iterable[ShardLine]) -> None:
    """Removes the files of shards that were never committed."""
    for shard in shards:
        for file in shard.files.values():
            ledger.storage.discard(file.path)
