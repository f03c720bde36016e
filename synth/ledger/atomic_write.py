"""Files beside the tables (datasets, report, cost, flow): a line of the manifest names their bytes,
then they are put in their place.

The line comes first: what stands there and is not what the last line says was damaged, or is of an
earlier line, and never unknown.
"""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from synth.ledger.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import WrittenFile, WrittenLine
from synth.ledger.log.verify_written import CARD, fault
from synth.schemas import SynthError

ROUNDS = 20
"""Tries of processes that write the same file at the same moment: each has the last word over what
it saw.
"""
NO_STAGE = StageRef("", "")


def written_file(content: bytes | Path) -> WrittenFile:
    """What a line says of a file with this content."""
    if isinstance(content, bytes):
        return WrittenFile(len(content), hashlib.sha256(content).hexdigest())
    with content.open("rb") as file:
        return WrittenFile(content.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def write_named(
    ledger: StoredLedger, name: str, made: Callable[[], bytes | Path], ref: StageRef = NO_STAGE
) -> None:
    """Names a file's content in the manifest and puts it in its place, unless both are so; a reader
    sees the old file or the new one.

    Of several processes that do so at once one has the last word in both: each looks again after
    all that it did, and `made` is asked
    again where another was in between. Raises `SynthError`.
    """
    for _ in range(ROUNDS):
        content = made()
        file = written_file(content)
        ledger.name_written(WrittenLine({name: file}, stage=ref.stage, stage_key=ref.stage_key))
        if fault(ledger.storage, name, file) is not None:
            ledger.storage.replace(name, content)
        named = ledger.refresh().written[name].files[name]
        if named == file and fault(ledger.storage, name, file) is None:
            return
    raise SynthError(
        f"{ledger.storage.path(name)}: is written by several processes without end; stop all but "
        "one and run it again"
    )


def dataset_fault(ledger: StoredLedger, folder: str, *, card: bool) -> str | None:
    """One line for a dataset of this run that does not stand as the manifest names it; without
    `card`, its card may have been edited.
    """
    line = ledger.state.written.get(folder)
    if line is None:
        return f"{ledger.storage.path(folder)}: no manifest line names it"
    for name, file in line.files.items():
        found = fault(ledger.storage, name, file, thorough=False)
        if found is not None and (card or found == "missing" or not name.endswith(f"/{CARD}")):
            return f"{ledger.storage.path(name)}: {found}"
    return None


def in_run(folder: str, files: Mapping[str, WrittenFile]) -> dict[str, WrittenFile]:
    """A dataset's files by their path in the run."""
    return {f"{folder}/{name}": file for name, file in sorted(files.items())}
