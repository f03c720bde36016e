"""`synth import`: trajectories of other tools into a ledger."""

from math import isfinite
from pathlib import Path

import click

from synth.schemas.printable import printable


@click.command("import")
@click.argument(
    "sources", metavar="SRC...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--into",
    "run",
    required=True,
    metavar="RUN",
    help="The ledger; it is created where there is none.",
)
@click.option(
    "--format",
    "form",
    default="auto",
    show_default=True,
    help="Format of the sources; auto looks at their content.",
)
@click.option(
    "--reward-threshold",
    default=1.0,
    show_default=True,
    metavar="R",
    help="A reward of at least R is a success, where only one is given.",
)
@click.option(
    "--max-record-mb",
    type=click.IntRange(1, 1 << 20),
    default=256,
    show_default=True,
    metavar="N",
    help="A larger line or document is refused.",
)
@click.option(
    "--rejections",
    "listing",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Writes the rejections (at most 100,000), one JSON object per line.",
)
@click.option(
    "--dry-run", is_flag=True, help="Reads everything and prints the tables; writes nothing."
)
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
def import_runs(
    sources: tuple[Path, ...],
    run: str,
    form: str,
    reward_threshold: float,
    max_record_mb: int,
    listing: Path | None,
    dry_run: bool,
    quiet: bool,
) -> None:
    """Read trajectories of other tools into a ledger; what cannot be used is counted by reason,
    nothing is dropped silently.

    \b
    Example:  synth import results.json.gz logs/ --into runs/mine
    """
    from rich.console import Console

    from synth import import_trajectories
    from synth.cli.import_tables import came_in, left_out, notes, write_listing
    from synth.engine.numbers import counted_noun
    from synth.flows.run_folder import refuse_foreign
    from synth.schemas.errors import ConfigError, SynthError

    if not isfinite(reward_threshold):
        raise ConfigError(f"--reward-threshold {reward_threshold}: must be a number")
    refuse_foreign(run, option="--into")
    if listing is not None:
        write_listing(
            listing, ()
        )  # a file that cannot be written is told before the import, not after it
    tally = import_trajectories(
        *sources,
        into=run,
        format=form,
        reward_threshold=reward_threshold,
        max_record_mb=max_record_mb,
        dry_run=dry_run,
        quiet=quiet,
    )
    if listing is not None:
        write_listing(listing, tally.rejections)
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=160)
    for table in (came_in(tally), left_out(tally)):
        if table is not None:
            console.print(table)
    for line in notes(tally, dry_run=dry_run):
        console.print(printable(line), markup=False, soft_wrap=True)
    if not tally.total(["trajectories", "present"]):
        whole = ", ".join(str(source) for source in sources[:3]) + (
            ", ..." if len(sources) > 3 else ""
        )
        raise SynthError(
            f"{whole}: nothing to import in {counted_noun(tally.files, 'file')}; {run} was left "
            "as it was"
        )
    console.print(
        "dry run: nothing was written" if dry_run else printable(f"ledger   {run}"),
        markup=False,
        soft_wrap=True,
    )
