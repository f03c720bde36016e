"""`synth import`: trajectories of other tools into a ledger."""

from collections import Counter
from pathlib import Path

import click


@click.command("import")
@click.argument("sources", metavar="SRC...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--into", "run", required=True, metavar="RUN", help="The ledger; it is created where there is none.")
@click.option("--format", "form", default="auto", show_default=True, help="Format of the sources; auto looks at their content.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
def import_runs(sources: tuple[Path, ...], run: str, form: str, quiet: bool) -> None:
    """Read trajectories of other tools into a ledger; what cannot be used is counted by reason, nothing is dropped silently.

    \b
    Example:  synth import results.json.gz logs/ --into runs/mine
    """
    from rich.console import Console
    from rich.table import Table

    from synth.importers.commit import import_into
    from synth.run.progress import progress_for

    tally = import_into(run, sources, form, progress_for(quiet=quiet))
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=160)
    table = Table(title="Imported", title_style="bold", title_justify="left", header_style="bold")
    for column in ("format", "trajectories", "turns", "tool calls", "outcomes"):
        table.add_column(column, justify="left" if column in ("format", "outcomes") else "right")
    for name, counts in sorted(tally.formats.items()):
        outcomes = ", ".join(f"{n:,} {outcome}" for outcome, n in sorted(tally.outcomes[name].items()))
        table.add_row(name, f"{counts['trajectories']:,}", f"{counts['turns']:,}", f"{counts['tool_calls']:,}", outcomes)
    console.print(table)
    reasons: Counter[str] = Counter(rejection.reason for rejection in tally.rejections)
    for rejection in tally.rejections[:20]:
        console.print(
            f"rejected {rejection.file} {rejection.locator}: {rejection.reason}: {rejection.detail}", markup=False, soft_wrap=True
        )
    if len(tally.rejections) > 20:
        console.print(f"... and {len(tally.rejections) - 20} more rejections")
    if reasons:
        console.print("rejected: " + ", ".join(f"{count:,} {reason}" for reason, count in reasons.most_common()), markup=False)
    if tally.present:
        console.print(f"{tally.present:,} were in the ledger already")
    if tally.benchmarks:
        console.print(
            "benchmark data: " + ", ".join(sorted(tally.benchmarks)) + "; exports leave it out unless --allow-benchmark is given",
            markup=False,
        )
    console.print(f"ledger   {run}", markup=False, soft_wrap=True)
    if not tally.formats and not tally.present:
        raise SystemExit(1)
