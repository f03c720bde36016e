"""Real trajectories with the labels that came with them, where they lie beside the repository
(`../shared/data`).
"""

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.command_line import ROOT
from synth.importers.load import opened
from synth.importers.records import Entry, Imported, Labelled, Rejection
from synth.schemas.errors import ConfigError
from synth.schemas.trajectory import Trajectory

DATA = ROOT.parent / "shared" / "data"
NO_TRAJECTORIES = ("LICENSES", "gold", "tau1_env")


def folders() -> list[str]:
    """Those that hold trajectories. Raises `ConfigError` where the data is not there."""
    if not DATA.is_dir():
        raise ConfigError(f"real trajectories absent: {DATA.relative_to(ROOT.parent.parent)}")
    return sorted(
        path.name for path in DATA.iterdir() if path.is_dir() and path.name not in NO_TRAJECTORIES
    )


def imported(sources: Sequence[Path]) -> Iterator[Entry]:
    """Everything in files and folders that hold nothing but trajectories and labels."""
    for found in opened(sources):
        yield from [found] if isinstance(found, Rejection) else found.entries


def real(names: Sequence[str]) -> Iterator[Trajectory]:
    """All that can be imported of some folders."""
    for name in names:
        for entry in imported([DATA / name]):
            if isinstance(entry, Imported):
                yield entry.trajectory


def human_labels(names: Sequence[str]) -> dict[str, list[int]]:
    """Trajectory -> turns that people marked as the failure's."""
    found: dict[str, list[int]] = {}
    for name in names:
        entries = list(imported([DATA / name]))
        of = {entry.name: entry for entry in entries if isinstance(entry, Imported)}
        for entry in entries:
            if isinstance(entry, Imported) and entry.marks:
                found[entry.trajectory.trajectory_id] = [
                    mark.turn for mark in entry.marks if mark.turn is not None
                ]
            elif isinstance(entry, Labelled) and entry.name in of:
                about = of[entry.name]
                marks = entry.marks(about.turn_of_message)
                found[about.trajectory.trajectory_id] = [
                    mark.turn for mark in marks if mark.turn is not None
                ]
    return found


def gold(file: str) -> list[dict[str, Any]]:
    """Rows of a file of labels."""
    path = DATA / "gold" / file
    text = (
        gzip.decompress(path.read_bytes()).decode()
        if path.suffix == ".gz"
        else path.read_text(encoding="utf-8")
    )
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def file_of(trajectory: Trajectory) -> str:
    """The file that a trajectory came from, without its folders and locator."""
    return (trajectory.source or "").split(":", 3)[-1]
