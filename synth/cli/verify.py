"""`synth verify`: every byte of a run, or of a dataset's folder, compared with what was
committed.
"""

from typing import TYPE_CHECKING

import click

from synth.schemas.printable import printable

if TYPE_CHECKING:
    from synth.ledger.storage import Storage


@click.command()
@click.argument("run", metavar="RUN|DATASET")
@click.option(
    "--expect",
    metavar="DIGEST",
    help="The head (of a run) or the sums (of a dataset) as they were noted down before.",
)
def verify(run: str, expect: str | None) -> None:
    """Read all of a run and name each file that is damaged, missing or not its own, with what to
    do; nothing is written.

    Its tables, datasets, report, cost, flow and manifest are compared. RUN may be the folder of a
    dataset, wherever it was copied to:
    then all of it is compared with its SHA256SUMS. A run whose last lines were cut off looks like
    an earlier state of itself: note the
    `head` that is printed, and give it as --expect.

    \b
    Example:  synth verify runs/quickstart
              synth verify runs/quickstart --expect 5f0c3cd6f1b6a6f1b1c4a8c7e5a1d2b3
              synth verify runs/quickstart/datasets/sft
    """
    from synth.exporters.sums import is_dataset
    from synth.ledger import manifest
    from synth.ledger.storage import Storage

    storage = Storage(run)
    if not manifest.listed(storage) and is_dataset(storage):
        _verify_dataset(storage, expect)
    else:
        _verify_run(storage, expect)


def _verify_run(storage: "Storage", expect: str | None) -> None:
    from synth.engine.numbers import counted_noun
    from synth.ledger.verify import Verified, problems
    from synth.ledger.verify_written import LIVE
    from synth.schemas.errors import DamagedError

    verified, found = Verified(), 0
    for problem in problems(storage, verified):
        click.echo(printable(problem))
        found += 1
    for note in verified.notes:
        click.echo(printable(f"note         {note}"))
    lines, packs = (
        counted_noun(verified.lines, "manifest line"),
        counted_noun(verified.packs, "pack"),
    )
    files, written = (
        counted_noun(verified.files, "shard file"),
        counted_noun(verified.written, "other file"),
    )
    read = (
        f"{lines}, {packs} of them, {files} ({verified.bytes:,} bytes), {written} "
        f"({verified.written_bytes:,} bytes) read"
    )
    if found:
        raise DamagedError(f"{storage.url}: {read}: {found} damaged, missing or unfinished")
    head = next(reversed(verified.history))
    if expect is not None:
        _require_expected(storage, expect, verified.history)
    click.echo(f"{read}: all as they were committed")
    click.echo(f"not covered  {LIVE}")
    click.echo(
        f"head         {head}: note it down; --expect {head} tells later whether lines were cut "
        "off or rewritten"
    )


def _require_expected(storage: "Storage", expect: str, history: dict[str, int]) -> None:
    from synth.schemas.errors import DamagedError

    if expect not in history:
        raise DamagedError(
            f"{storage.url}: --expect {printable(expect)}: no line of its manifest has this head: "
            "lines were cut off or rewritten since it "
            "was noted, or it is another run's; put the run back from a backup"
        )
    since = max(history.values()) - history[expect]
    click.echo(
        f"expected     the run that was noted{f', gone on by {since:,} lines' if since else ''}"
    )


def _verify_dataset(storage: "Storage", expect: str | None) -> None:
    from synth.engine.numbers import counted_noun
    from synth.exporters.sums import SUMS, folder_problems, read_sums
    from synth.schemas.errors import DamagedError

    found = 0
    for problem in folder_problems(storage):
        click.echo(printable(problem))
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
    click.echo(f"{counted_noun(len(read_sums(storage)), 'file')} read: all as {SUMS} says")
    click.echo(
        f"sums         {sums}: note it down where others find it; --expect {sums} tells whether "
        "all of it was rewritten"
    )
