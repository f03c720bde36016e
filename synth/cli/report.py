"""`synth report`: a run as one page."""

import shlex
from pathlib import Path

import click

from synth.cli.environment_option import bindings_for, env_option
from synth.schemas.printable import printable


@click.command()
@click.argument("run", metavar="RUN")
@env_option
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The file to write; RUN/report.html without it.")
@click.option("--megabytes", type=click.FloatRange(min=2), default=30, show_default=True, help="Size that the page keeps to.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def report(run: str, environments: tuple[str, ...], out: Path | None, megabytes: float, quiet: bool) -> None:
    """Write what a run holds as one HTML page that needs nothing else.

    Funnel, success, faults, cost, scores, graphs, and every trajectory, to be searched, read and set side by side. Long texts are
    shortened where the page would pass its size, and the page says so (docs/report.md). Nothing is executed: --env is taken so that one
    set of options fits all commands, and only looked at.

    \b
    Example:  synth report runs/quickstart
              synth report runs/quickstart --out report.html
              synth report runs/imported --env mcp=shop.yaml
    """
    from synth.engine.progress import progress_for
    from synth.ledger.ledger import Ledger
    from synth.report.build import MEGABYTES, pieces
    from synth.report.registry import SECTIONS
    from synth.report.written import PAGE, write_local, write_page
    from synth.schemas.errors import ConfigError

    if out is not None and not out.parent.is_dir():
        raise ConfigError(f"--out {out}: there is no folder {out.parent}")
    ledger = Ledger(run)
    bindings_for(ledger, environments)
    size = ["--megabytes", f"{megabytes:g}"] if megabytes != MEGABYTES else []
    command = shlex.join(["synth", "report", run, *(["--out", str(out)] if out is not None else []), *size])
    progress = progress_for(quiet=quiet)
    progress.start("report", len(SECTIONS), "sections")
    try:
        page = pieces(ledger, command, lambda name: progress.step(1), megabytes=megabytes)
        if out is None:
            write_page(ledger, page)
        else:
            try:
                write_local(out, page)
            except OSError as error:
                raise ConfigError(f"--out {out}: cannot be written: {error.strerror}") from error
    finally:
        progress.stop()
    click.echo(printable(str(out) if out is not None else ledger.storage.path(PAGE)))
