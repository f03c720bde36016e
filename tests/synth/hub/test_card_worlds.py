"""What the card says of worlds and licences: what the ledger recorded, and that the rest is not
known.
"""

from pathlib import Path
from typing import Any

import pytest

from synth.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from tests.synth.hub.sections import section
from tests.trajectories import make_trajectory


def row(table: str, world: str) -> list[str]:
    (line,) = [line for line in table.splitlines() if line.startswith(f"| {world} |")]
    return line.strip("| ").split(" | ")


@pytest.fixture
def ledger(tmp_path: Path) -> StoredLedger:
    """Two episodes played in the echo world, and three imported ones from two files."""
    ledger = StoredLedger(str(tmp_path / "run"), create=True)
    ledger.commit(
        StageRef("rollout", "rollout"), trajectories=[make_trajectory(slot) for slot in "ab"]
    )
    ledger.begin_stage(StageLine("rollout", "rollout", {}, ""))
    sources = ("tau_bench:f1:0:runs.json", "tau_bench:f1:1:runs.json", "tau_bench:f2:0:other.json")
    imported = [
        make_trajectory(f"i{at}", env="tau_bench/retail", source=source)
        for at, source in enumerate(sources)
    ]
    ledger.commit(StageRef("import", "import"), trajectories=imported)
    return ledger


def reported(ledger: StoredLedger, **report: Any) -> StoredLedger:
    ledger.finish_stage(
        StageRef("rollout", "rollout"),
        {"kind": "episodes", "outcomes": {}, "faults": {}, "details": {}, **report},
    )
    return ledger


def test_version_and_licence_are_those_that_the_stage_recorded(ledger: StoredLedger) -> None:
    played = {"env": "echo", "version": "7", "licence": "MIT (made | up)"}
    assert row(section(reported(ledger, worlds=[played]), "Worlds"), "echo")[1:3] == [
        "7",
        "MIT (made \\| up)",
    ]
    assert (
        "- the world `echo` says of itself: MIT (made \\| up)."
        in section(ledger, "Licence").splitlines()
    )


def test_a_world_that_changed_its_version_between_episodes_is_told_with_both(
    ledger: StoredLedger,
) -> None:
    both = [{"env": "echo", "version": version, "licence": "MIT"} for version in ("7", "8")]
    assert row(section(reported(ledger, worlds=both), "Worlds"), "echo")[1:3] == ["7, 8", "MIT"]


def test_what_no_stage_recorded_is_not_made_up(ledger: StoredLedger) -> None:
    assert row(section(reported(ledger), "Worlds"), "echo")[1:3] == ["not recorded", "not recorded"]
    assert "echo" not in section(ledger, "Licence")


def test_of_imports_the_licence_is_said_to_be_unknown_and_no_name_of_a_file_is_told(
    ledger: StoredLedger,
) -> None:
    assert row(section(ledger, "Worlds"), "tau_bench/retail")[1:3] == [
        "not known: imported",
        "not known: imported",
    ]
    said = section(ledger, "Licence")
    assert (
        "**not known**: the licence of 3 trajectories imported from 2 files in the format tau_bench"
        in said
    )
    assert "runs.json" not in said
