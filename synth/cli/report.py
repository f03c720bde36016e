"""`synth report`: a run as one page."""

import shlex
from pathlib import Path

import click


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The file to write; RUN/report.html without it.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def report(run: str, out: Path | None, quiet: bool) -> None:
    """Write what a run holds as one HTML page that needs nothing else: funnel, tasks, graphs.

    \b
    Example:  synth report runs/quickstart
              synth report runs/quickstart --out report.html
    """
    from schemas.errors import ConfigError
    from synth.ledger.ledger import Ledger
    from synth.report.build import report as built
    from synth.report.registry import SECTIONS
    from synth.run.progress import progress_for
    from synth.run.report_files import write_report_file

    if out is not None and not out.parent.is_dir():
        raise ConfigError(f"--out {out}: there is no folder {out.parent}")
    ledger = Ledger(run)
    command = shlex.join(["synth", "report", run, *(["--out", str(out)] if out is not None else [])])
    progress = progress_for(quiet=quiet)
    progress.start("report", len(SECTIONS), "sections")
    try:
        page = built(ledger, command, lambda name: progress.step(1))
    finally:
        progress.stop()
    if out is None:
        write_report_file(ledger.storage, "report.html", page)
    else:
        try:
            out.write_text(page, encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"--out {out}: cannot be written: {error.strerror}") from error
    click.echo(str(out) if out is not None else ledger.storage.path("report.html"))
