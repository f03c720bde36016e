"""A rollout beside workers that have some of its episodes in hand."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from synth.claims import Lease, Leases
from synth.claims import slots as claimed_slots
from synth.engine.study import episodes
from synth.engine.study.episodes import ShardEpisodes
from synth.ledger import StoredLedger
from synth.ledger.storage.journal import Journal, JournaledStep
from synth.rollout.episode import EpisodeSpec
from synth.schemas.trajectory import Trajectory
from tests.flow_files import echo_flow, run_flow

pytestmark = pytest.mark.slow
FLOW = echo_flow(stages=[{"rollout": {"trials": 2}}], lease_s=1)
"""Eight episodes in one shard."""


def claimed_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, through: bool
) -> tuple[str, list[str]]:
    """A run in which a worker of another machine has claimed the first three episodes, and gives no
    sign of life any more.
    """
    run_flow(FLOW, str(tmp_path / "like"))
    slots = list(StoredLedger(str(tmp_path / "like")).state.slots)
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "elsewhere"))
    url = str(tmp_path / "run")
    leases = Leases(StoredLedger(url, create=True), term_s=1)
    for slot_id in slots[:3]:
        leases.claim(slot_id, leases.holder())
    if through:
        leases.close()
    else:
        leases._over.set()
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "here"))
    return url, slots


def test_what_others_have_in_hand_is_played_last_and_once_they_are_silent_for_a_term(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, slots = claimed_elsewhere(tmp_path, monkeypatch, through=False)
    _, _, said = run_flow(FLOW, url)
    state = StoredLedger(url).state
    assert (
        "rollout: others work on this run; waiting for their episodes, or for a silence of 1 s"
        in said
    )
    committed = [
        [record.slot_id for record in shard.slots] for shard in state.shards if shard.slots
    ]
    assert sorted(slot_id for group in committed for slot_id in group) == sorted(slots)
    assert set(committed[0]) == set(slots[3:]), "what was free was committed first"
    assert len(state.fences) == 1


def test_what_a_worker_that_is_through_has_left_is_played_at_once_and_nobody_is_declared_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, slots = claimed_elsewhere(tmp_path, monkeypatch, through=True)
    _, _, said = run_flow(FLOW, url)
    state = StoredLedger(url).state
    assert "others work on this run" not in said
    assert [
        [record.slot_id for record in shard.slots] for shard in state.shards if shard.slots
    ] == [slots]
    assert state.fences == {}


def test_what_ends_while_a_group_is_committed_goes_into_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claims in a bucket take their time to be removed, and the loop goes on meanwhile."""
    visits, discard, played = list[int](), Leases.discard, ShardEpisodes.played

    def slowly(leases: Leases, committed: Sequence[Lease]) -> None:
        time.sleep(0.3)
        discard(leases, committed)

    async def counted(
        self: ShardEpisodes, specs: Sequence[EpisodeSpec], *rest: Any, **more: Any
    ) -> list[Trajectory]:
        visits.append(len(specs))
        return await played(self, specs, *rest, **more)

    monkeypatch.setattr(Leases, "discard", slowly)
    monkeypatch.setattr(episodes, "COMMIT_EVERY_S", 0.01)
    monkeypatch.setattr(ShardEpisodes, "played", counted)
    monkeypatch.setattr(claimed_slots, "TOGETHER_S", 0.02)
    run_flow(
        echo_flow(stages=[{"rollout": {"trials": 2, "live": 2}}]), f"memory://{tmp_path.name}/run"
    )
    assert visits == [8], (
        "nothing is left to be replayed from the journal, which may be gone by then"
    )


def test_a_run_that_was_killed_many_times_goes_on_alone_at_once(tmp_path: Path) -> None:
    """Void claims follow each other: none of them is another worker's."""
    run_flow(FLOW, str(tmp_path / "like"))
    url = str(tmp_path / "run")
    ledger = StoredLedger(url, create=True)
    for number in range(3):
        leases = Leases(ledger, term_s=60)
        for slot_id in StoredLedger(str(tmp_path / "like")).state.slots:
            assert isinstance(leases.claim(slot_id, leases.holder(), number), Lease)
        leases.close()
    _, _, said = run_flow(FLOW, url)
    assert "others work on this run" not in said
    assert len([shard for shard in StoredLedger(url).state.shards if shard.slots]) == 1, (
        "nothing was put off"
    )
    assert list(Path(url, "claims").glob("*.*")) == []


def test_a_ceiling_that_is_reached_leaves_no_claims(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run, _, _ = run_flow(FLOW.model_copy(update={"max_hours": 1e-9}), url)
    assert run.stopped == "max_hours 1e-09 is reached"
    assert list(Path(url, "claims").glob("*.*")) == []


def test_claims_and_journals_left_by_who_was_interrupted_beside_the_last_worker_are_cleared(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    run_flow(FLOW, url)
    ledger = StoredLedger(url)
    (stage_key,) = [
        line.stage_key for line in ledger.state.stages.values() if line.stage == "rollout"
    ]
    journal = Journal(ledger.journal_folder / f"{stage_key}-shard.1.jsonl")
    journal.append(JournaledStep("slot", 0, 0, "observed"))
    journal.close()
    leases = Leases(ledger, term_s=60)
    leases.claim(next(iter(ledger.state.slots)), leases.holder())
    leases.close()
    run_flow(FLOW, url)
    assert not journal.path.exists()
    run_flow(
        FLOW.model_copy(
            update={"stages": (*FLOW.stages, *echo_flow(stages=[{"filter": ["solved"]}]).stages)}
        ),
        url,
    )
    assert list(Path(url, "claims").glob("*.*")) == []
