"""The page on its way to a file, bit by bit; a reader sees the old page or the new one."""

import os
from collections.abc import Iterable
from pathlib import Path

from synth.ledger.storage import Storage, write_error

PAGE = "report.html"


def write_page(storage: Storage, pieces: Iterable[str]) -> None:
    """Writes RUN/report.html. Raises `SynthError` where it cannot."""
    if storage.local:
        target = Path(storage.root, PAGE)
        try:
            write_local(target, pieces)
        except OSError as error:
            raise write_error(str(target), error) from error
        return
    with storage.fs.open(f"{storage.root}/{PAGE}", "wb") as file:
        for piece in pieces:
            file.write(piece.encode())


def write_local(target: Path, pieces: Iterable[str]) -> None:
    """Writes beside the file first, then puts that in its place. Raises `OSError` where it cannot."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
