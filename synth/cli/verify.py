"""`synth verify`: every byte of a run compared with what was committed."""

import click

from schemas.printable import printable


@click.command()
@click.argument("run", metavar="RUN")
def verify(run: str) -> None:
    """Read all of a run and name each file that is damaged or missing, with what to do; nothing is written.

    \b
    Example:  synth verify runs/quickstart
    """
    from schemas.errors import DamagedError
    from synth.ledger.storage import Storage
    from synth.ledger.verify import Verified, problems
    from synth.run.numbers import counted_noun

    verified, found = Verified(), 0
    for problem in problems(Storage(run), verified):
        click.echo(printable(problem))
        found += 1
    lines, packs = counted_noun(verified.lines, "manifest line"), counted_noun(verified.packs, "pack")
    files = counted_noun(verified.files, "shard file")
    read = f"{lines}, {packs} of them, {files} ({verified.bytes:,} bytes) read"
    if found:
        raise DamagedError(f"{run}: {read}: {found} damaged or missing")
    click.echo(f"{read}: all as they were committed")
