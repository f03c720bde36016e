"""A small run with two datasets, a report, cost and packs of lines, and what may be done to its
files.
"""

from pathlib import Path
from random import Random
from typing import Any

from synth.ledger.log.verify import Verified, problems
from synth.ledger.storage import Storage
from synth.schemas.flow import Flow
from tests.flow_files import echo_flow, run_flow


def whole_flow(trials: int = 2, **changes: Any) -> Flow:
    """Rollouts, filters, two datasets and a report."""
    export = {"kinds": ["sft", "rl"], "include_scripted": True} | changes.pop("export", {})
    stages = [
        {"rollout": {"trials": trials}},
        {"filter": ["solved"]},
        {"export": export},
        {"report": {}},
    ]
    return echo_flow(stages=stages, **changes)


def finish(folder: Path, **changes: Any) -> Path:
    """Runs the flow to its end."""
    run_flow(whole_flow(**changes), str(folder))
    return folder


def found(folder: Path | str) -> list[str]:
    """What verify says of a run."""
    return list(problems(Storage(str(folder)), Verified()))


def told(folder: Path) -> list[str]:
    """The same, with what could not be compared."""
    verified = Verified()
    return [*problems(Storage(str(folder)), verified), *verified.notes]


def watched(run: Path) -> list[Path]:
    """All files that verify speaks for: every one of them but signs of life and leases."""
    return [
        path
        for path in sorted(run.rglob("*"))
        if path.is_file() and not {"workers", "claims"} & set(path.relative_to(run).parts)
    ]


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Content and time of change of every file."""
    return {
        str(p.relative_to(folder)): (p.read_bytes(), p.stat().st_mtime_ns)
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def flip(path: Path, draw: Random) -> bytes:
    """Changes one bit; the bytes before."""
    before = path.read_bytes()
    at = draw.randrange(len(before))
    path.write_bytes(before[:at] + bytes([before[at] ^ 1 << draw.randrange(8)]) + before[at + 1 :])
    return before
