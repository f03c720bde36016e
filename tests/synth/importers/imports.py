"""Made-up logs written to files and read back."""

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from synth.importers.load import Opened, opened
from synth.importers.records import WHOLE, Entry, Imported, ImportSettings, Rejection

DATA = Path(__file__).parents[4] / "shared" / "data"
needs_real_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="real trajectories absent: ../shared/data"
)


def imported(
    sources: Sequence[Path], *, format: str = "auto", settings: ImportSettings | None = None
) -> Iterator[Entry]:
    """Everything in the sources, file by file; a refused file gives its rejection alone."""
    return chain.from_iterable(map(_whole, opened(sources, format=format, settings=settings)))


def _whole(found: Opened | Rejection) -> list[Entry]:
    entries: list[Entry] = [found] if isinstance(found, Rejection) else list(found.entries)
    for one in entries:
        if isinstance(one, Rejection) and one.locator == WHOLE:
            return [one]
    return entries


def read(path: Path, threshold: float = 1.0) -> tuple[list[Imported], list[Rejection]]:
    """What comes in from a file whose format is told by content, and what does not."""
    found = list(imported([path], settings=ImportSettings(reward_threshold=threshold)))
    return [f for f in found if isinstance(f, Imported)], [
        f for f in found if isinstance(f, Rejection)
    ]


def read_document(
    folder: Path, value: Any, threshold: float = 1.0
) -> tuple[list[Imported], list[Rejection]]:
    """One JSON value as a file."""
    path = folder / "log"
    path.write_text(json.dumps(value), encoding="utf-8")
    return read(path, threshold)


def read_lines(folder: Path, lines: Sequence[Any]) -> tuple[list[Imported], list[Rejection]]:
    """JSON lines as a file."""
    path = folder / "log"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return read(path)
