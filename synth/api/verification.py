"""Every byte of a run, or of a dataset's folder, compared with what was committed."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from synth.engine.numbers import counted_noun
from synth.exporters.folder.sums import SUMS, folder_problems, is_dataset, read_sums
from synth.ledger.log import manifest
from synth.ledger.log.verify import Verified, problems
from synth.ledger.log.verify_written import LIVE
from synth.ledger.storage import Storage
from synth.schemas import DamagedError

Told = Callable[[str], None]


@dataclass(frozen=True)
class VerifyReport:
    """What was read, all of it as committed; `head` (of a run) or `sums` (of a dataset) is to be
    noted down elsewhere, for `expect`.
    """

    read: str
    digest: str
    lines: tuple[str, ...]


def verify(
    run_dir: Path | str, *, expect: str | None = None, told: Told = lambda line: None
) -> VerifyReport:
    """Reads all of a run or of a dataset; `told` is given each file that is damaged, missing or not
    its own, with what to do. Writes nothing.

    Raises `DamagedError` where there is one, and where it is not what `expect` says.
    """
    storage = Storage(str(run_dir))
    if not manifest.listed(storage) and is_dataset(storage):
        return _dataset(storage, expect, told)
    return _run(storage, expect, told)


def _run(storage: Storage, expect: str | None, told: Told) -> VerifyReport:
    verified, found = Verified(), 0
    for problem in problems(storage, verified):
        told(problem)
        found += 1
    for note in verified.notes:
        told(f"note         {note}")
    read = (
        f"{counted_noun(verified.lines, 'manifest line')}, {counted_noun(verified.packs, 'pack')} "
        f"of them, {counted_noun(verified.files, 'shard file')} ({verified.bytes:,} bytes), "
        f"{counted_noun(verified.written, 'other file')} ({verified.written_bytes:,} bytes) read"
    )
    if found:
        raise DamagedError(f"{storage.url}: {read}: {found} damaged, missing or unfinished")
    head = next(reversed(verified.history))
    if expect is not None:
        told(_expected(storage, expect, verified.history))
    return VerifyReport(
        f"{read}: all as they were committed",
        head,
        (
            f"not covered  {LIVE}",
            f"head         {head}: note it down; --expect {head} tells later whether lines were "
            "cut off or rewritten",
        ),
    )


def _expected(storage: Storage, expect: str, history: dict[str, int]) -> str:
    if expect not in history:
        raise DamagedError(
            f"{storage.url}: --expect {expect}: no line of its manifest has this head: "
            "lines were cut off or rewritten since it "
            "was noted, or it is another run's; put the run back from a backup"
        )
    since = max(history.values()) - history[expect]
    return f"expected     the run that was noted{f', gone on by {since:,} lines' if since else ''}"


def _dataset(storage: Storage, expect: str | None, told: Told) -> VerifyReport:
    found = 0
    for problem in folder_problems(storage):
        told(problem)
        found += 1
    if found:
        raise DamagedError(
            f"{storage.url}: {counted_noun(found, 'file')} damaged, missing or not its own; train "
            "on none of it"
        )
    sums = storage.sha256(SUMS)
    if expect not in (None, sums):
        raise DamagedError(
            f"{storage.url}: --expect: its sums are {sums}: not the dataset that was noted, "
            "though whole in itself"
        )
    return VerifyReport(
        f"{counted_noun(len(read_sums(storage)), 'file')} read: all as {SUMS} says",
        sums,
        (
            f"sums         {sums}: note it down where others find it; --expect {sums} tells "
            "whether all of it was rewritten",
        ),
    )
