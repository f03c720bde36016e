"""Real trajectories and their raw files."""

import gzip
import json
from pathlib import Path
from typing import Any

from synth.importers.records import Imported, Rejection
from tests.synth.importers.imports import imported

DATA = Path(__file__).parents[4] / "shared" / "data"


def raw(path: Path) -> Any:
    text = (
        gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    ).decode()
    return (
        [json.loads(line) for line in text.splitlines()]
        if ".jsonl" in path.name
        else json.loads(text)
    )


def load(*folders: str) -> list[Imported]:
    found = list(imported([DATA / folder for folder in folders]))
    assert [f for f in found if isinstance(f, Rejection)] == []
    return [f for f in found if isinstance(f, Imported)]


def sums(found: list[Imported]) -> tuple[int, int, int]:
    turns = [turn for f in found for turn in f.trajectory.turns]
    return len(found), len(turns), sum(len(turn.tool_calls) for turn in turns)
