"""The page on its way to a file, bit by bit; a reader sees the old page or the new one."""

import os
from collections.abc import Iterable
from pathlib import Path
from tempfile import mkdtemp

from synth.ledger.atomic_write import NO_STAGE, write_named
from synth.ledger.ledger import StageRef, StoredLedger
from synth.ledger.storage.errors import access_error

PAGE = "report.html"
MEGABYTES = 30
"""The size that a page keeps to; texts are shortened where they would pass it."""


def write_page(ledger: StoredLedger, pieces: Iterable[str], ref: StageRef = NO_STAGE) -> None:
    """Writes RUN/report.html, named by a line of the manifest. Raises `SynthError` where it
    cannot.
    """
    storage = ledger.storage
    try:
        aside = (
            _aside(Path(storage.root, PAGE))
            if storage.local
            else Path(mkdtemp(prefix="synth-report-"), PAGE)
        )
        try:
            _write(aside, pieces)
            write_named(ledger, PAGE, lambda: aside, ref)
        finally:
            aside.unlink(missing_ok=True)
            if not storage.local:
                aside.parent.rmdir()
    except OSError as error:
        raise access_error(storage.path(PAGE), error) from error


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}")


def _write(path: Path, pieces: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(pieces)


def write_local(target: Path, pieces: Iterable[str]) -> None:
    """Writes beside the file first, then puts that in its place. Raises `OSError` where it
    cannot.
    """
    temporary = _aside(target)
    try:
        _write(temporary, pieces)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
