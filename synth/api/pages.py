"""What a run holds, as one page to read in a browser."""

import shlex
from pathlib import Path

from synth.api.bound import Files, bindings_for
from synth.api.opened import stored
from synth.engine.progress import progress_for
from synth.report.build import MEGABYTES, pieces
from synth.report.section import SECTIONS
from synth.report.written import PAGE, write_local, write_page
from synth.schemas import ConfigError


def write_report(
    run_dir: Path | str,
    *,
    to: Path | str | None = None,
    megabytes: float = MEGABYTES,
    environments: Files = (),
    quiet: bool = False,
) -> str:
    """Writes the page to the file `to`, to `report.html` in the run without it; gives its place.

    Long texts are shortened where the page would pass `megabytes`. `environments` are looked at,
    none is started.
    Raises `ConfigError` where the file cannot be written.
    """
    out = None if to is None else Path(to)
    if out is not None and not out.parent.is_dir():
        raise ConfigError(f"{out}: there is no folder {out.parent}")
    ledger = stored(run_dir)
    bindings_for(ledger, environments)
    progress = progress_for(quiet=quiet)
    progress.start("report", len(SECTIONS), "sections")
    try:
        command = _command(str(run_dir), out, megabytes)
        page = pieces(ledger, command, lambda name: progress.step(1), megabytes=megabytes)
        if out is None:
            write_page(ledger, page)
            return ledger.storage.path(PAGE)
        try:
            write_local(out, page)
        except OSError as error:
            raise ConfigError(f"{out}: cannot be written: {error.strerror}") from error
        return str(out)
    finally:
        progress.stop()


def _command(run: str, out: Path | None, megabytes: float) -> str:
    """The command that writes the same page."""
    words = ["synth", "report", run]
    words += ["--out", str(out)] if out is not None else []
    words += ["--megabytes", f"{megabytes:g}"] if megabytes != MEGABYTES else []
    return shlex.join(words)
