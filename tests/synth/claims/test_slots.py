"""Episodes taken one by one by workers that overtake each other anywhere: each is committed once,
and by nobody who was declared dead.
"""

import asyncio
from pathlib import Path
from random import Random

import pytest

from synth.claims import Leases
from synth.claims.slots import ClaimedSlots, PeerClaims
from synth.ledger import StoredLedger
from synth.ledger.log import manifest
from synth.ledger.log.lost_shards import lost_lines
from synth.ledger.log.manifest import FenceLine, ShardLine
from synth.schemas.flow import PlannedSlot
from synth.schemas.trajectory import Trajectory
from tests.synth.claims.interleaved import REF, interleaved
from tests.trajectories import make_trajectory

SLOTS = 6


def holds(seed: int, folder: Path) -> tuple[int, int, int]:
    """Fences, deaths, and episodes played in vain; the invariants are asserted."""
    told = interleaved(seed, folder, slots=SLOTS)
    assert told.errors == []
    ledger = StoredLedger(str(folder / "run"))
    lines = [manifest.read(ledger.storage, number) for number in range(ledger.state.lines)]
    fenced_at = {line.work: at for at, line in enumerate(lines) if isinstance(line, FenceLine)}
    committed_at = {
        record.slot_id: at
        for at, line in enumerate(lines)
        if isinstance(line, ShardLine)
        for record in line.slots
    }
    filled = sorted(
        (record.slot_id, record.attempt) for shard in ledger.state.shards for record in shard.slots
    )
    assert filled == [(f"slot{number}", 0) for number in range(SLOTS)], "every slot once"
    assert ledger.state.superseded == frozenset()
    assert lost_lines(ledger.state) == []
    for slot_id, holder in told.committed_by:
        assert committed_at[slot_id] < fenced_at.get(holder, len(lines)), (
            "nobody who was declared dead before has committed it"
        )
    files = {file.path for shard in ledger.state.shards for file in shard.files.values()}
    if not told.died:
        assert {
            f"{table}/{name}"
            for table in ("trajectories", "turns")
            for name in ledger.storage.names(table)
        } == files
    return len(fenced_at), told.died, len(told.played) - SLOTS


@pytest.mark.parametrize("seed", range(6))
def test_every_slot_is_filled_once_in_whatever_order_the_requests_come(
    seed: int, tmp_path: Path
) -> None:
    holds(seed, tmp_path)


@pytest.mark.nightly
@pytest.mark.slow
def test_in_many_orders_workers_are_declared_dead_wake_and_die_and_every_slot_is_filled_once(
    tmp_path: Path,
) -> None:
    found = [holds(seed, tmp_path / str(seed)) for seed in range(100, 300)]
    fences, deaths, in_vain = (sum(column) for column in zip(*found, strict=True))
    assert fences > 30
    assert deaths > 15
    assert in_vain > 15, "some were played by two"


def test_a_slot_that_others_have_committed_since_is_not_played_though_its_claim_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = [PlannedSlot(name, "task", 0, 0) for name in "ab"]
    hands = []
    for machine in range(2):
        monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / str(machine)))
        leases = Leases(StoredLedger(str(tmp_path / "run"), create=True), term_s=60)
        hands.append(
            ClaimedSlots(
                leases, PeerClaims(leases, term_s=60), planned, Random(0), lambda line: None
            )
        )
    late, quick = hands
    played = []

    async def episode(slot_id: str) -> list[Trajectory]:
        played.append(slot_id)
        return [make_trajectory(slot_id)]

    async def both() -> list[Trajectory]:
        assert await late.begin(shared=False)
        assert await quick.begin(shared=True)
        await quick.commit(REF, await quick.play("b", lambda: episode("b")))
        assert sorted(quick.leases.ledger.storage.names("claims")) == ["a.0"], (
            "what is committed is claimed no more"
        )
        return await late.play("b", lambda: episode("b"))

    assert asyncio.run(both()) == []
    assert played == ["b"]
    for hand in hands:
        hand.leases.close()
