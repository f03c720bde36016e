"""The ledger: what is committed stays, once, as it was, whoever else writes."""

import uuid
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth.ledger import Decision, StageRef, StoredLedger
from synth.ledger.log.lost_shards import lost_lines
from synth.ledger.log.manifest import StageLine
from synth.ledger.sql import query
from synth.schemas.errors import ConfigError, DamagedError
from synth.schemas.outcome import Fault
from tests.trajectories import make_fault, make_task, make_trajectory, turns

REF = StageRef("rollout", "key1")


def current(ledger: StoredLedger, key: str = "key1", adopted: tuple[str, ...] = ()) -> None:
    ledger.begin_stage(StageLine("rollout", key, {}, "", adopted))


def test_what_is_committed_is_read_back_equal(url: str) -> None:
    ledger = StoredLedger(url, create=True)
    trajectory, fault, task = make_trajectory("a"), make_fault("b"), make_task()
    ledger.commit(REF, trajectories=[trajectory, fault], tasks=[task])
    current(ledger)
    again = StoredLedger(url)
    assert list(again.trajectories()) == [trajectory, fault]
    assert again.tasks([task.task_id, "other"]) == {task.task_id: task}
    assert again.task_ids() == {task.task_id: "echo"}


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(turns, max_size=3))
def test_any_turn_survives_the_ledger_to_the_byte(found: list) -> None:  # type: ignore[type-arg]
    numbered = tuple(msgspec.structs.replace(turn, index=i) for i, turn in enumerate(found))
    ledger = StoredLedger(f"memory://{uuid.uuid4().hex}", create=True)
    trajectory = make_trajectory("a", turns=0, system_prompt=None, opening=())
    trajectory = msgspec.structs.replace(trajectory, turns=numbered)
    ledger.commit(REF, trajectories=[trajectory])
    assert ledger.trajectory(trajectory.trajectory_id) == trajectory


def test_a_run_that_does_not_exist_is_not_made_by_reading(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no run"):
        StoredLedger(str(tmp_path / "nowhere"))
    assert not (tmp_path / "nowhere").exists()


def test_views_show_the_current_flow_and_all_shows_everything(url: str) -> None:
    ledger = StoredLedger(url, create=True)
    ledger.commit(REF, trajectories=[make_trajectory("a")])
    ledger.commit(
        StageRef("rollout", "key2"), trajectories=[make_trajectory("b"), make_trajectory("c")]
    )
    current(ledger, "key2")
    assert query(ledger, "SELECT count(*) FROM trajectories").fetchall() == [(2,)]
    assert query(ledger, "SELECT count(*) FROM turns").fetchall() == [(4,)]
    assert query(ledger, "SELECT count(*) FROM trajectories_all").fetchall() == [(3,)]


@pytest.mark.slow
def test_tables_without_shards_are_empty_and_typed(url: str) -> None:
    ledger = StoredLedger(url, create=True)
    for table in ("tasks", "trajectories", "turns", "scores", "decisions", "nodes", "edges"):
        assert query(ledger, f"SELECT * FROM {table}").fetchall() == []
    assert query(ledger, "SELECT sum(n_turns) FROM trajectories WHERE reward > 0.5").fetchall() == [
        (None,)
    ]


@pytest.mark.slow
def test_adopted_trajectories_are_seen_and_their_neighbours_are_not(url: str) -> None:
    ledger = StoredLedger(url, create=True)
    wanted, other = make_trajectory("a"), make_trajectory("b")
    ledger.commit(REF, trajectories=[wanted, other])
    ledger.commit(StageRef("rollout", "key2"), trajectories=[make_trajectory("c")])
    current(ledger, "key2", (wanted.trajectory_id,))
    slots = query(ledger, "SELECT slot_id FROM trajectories ORDER BY 1").fetchall()
    assert slots == [("a",), ("c",)]
    assert {t.slot_id for t in ledger.trajectories()} == {"a", "c"}
    assert query(ledger, "SELECT count(*) FROM turns").fetchall() == [(4,)]


def test_the_first_commit_of_a_slot_wins_and_the_second_is_kept_as_another_attempt(
    url: str,
) -> None:
    first, second = StoredLedger(url, create=True), StoredLedger(url)
    winner = make_trajectory("a", turns=1)
    loser = make_trajectory("a", turns=3)
    first.commit(REF, trajectories=[winner])
    second.commit(REF, trajectories=[loser])
    ledger = StoredLedger(url)
    current(ledger)
    assert [t.turns for t in ledger.trajectories()] == [winner.turns]
    kept = query(
        ledger, "SELECT attempt, n_turns FROM trajectories_all ORDER BY attempt"
    ).fetchall()
    assert kept == [(0, 1), (1, 3)]
    assert query(ledger, "SELECT n_turns FROM trajectories").fetchall() == [(1,)]
    assert ledger.state.current_valid() == [winner.trajectory_id]


def test_a_valid_attempt_after_a_fault_settles_the_slot(url: str) -> None:
    ledger = StoredLedger(url, create=True)
    ledger.commit(REF, trajectories=[make_fault("a", 0, Fault.TIMEOUT)])
    assert ledger.state.slots["a"].valid is None
    assert ledger.state.slots["a"].last_fault == "timeout"
    ledger.commit(REF, trajectories=[make_trajectory("a", 1)])
    valid = ledger.state.slots["a"].valid
    assert valid is not None
    assert valid.attempt == 1


def test_imports_are_current_whatever_flow_runs(url: str) -> None:
    ledger = StoredLedger(url, create=True)
    ledger.commit(
        StageRef("import", "any"), trajectories=[make_trajectory("a", synthesizer="import")]
    )
    ledger.begin_flow({"name": "x"})
    assert len(list(ledger.trajectories())) == 1


def test_decisions_follow_their_stage(url: str) -> None:
    ledger = StoredLedger(url, create=True)
    ledger.commit(StageRef("filter", "f1"), decisions=[Decision("t", "solved", None, "no_verdict")])
    ledger.begin_stage(StageLine("filter", "f1", {}))
    assert query(ledger, "SELECT filter, keep, reason FROM decisions").fetchall() == [
        ("solved", None, "no_verdict")
    ]


def test_an_id_may_be_shortened_while_it_stays_unique(url: str) -> None:
    ledger = StoredLedger(url, create=True)
    trajectory = make_trajectory("a")
    ledger.commit(REF, trajectories=[trajectory, make_trajectory("b")])
    assert ledger.trajectory(trajectory.trajectory_id[:8]) == trajectory
    with pytest.raises(ConfigError, match="is the beginning of 2 ids"):
        ledger.trajectory("")
    with pytest.raises(ConfigError, match="names no trajectory"):
        ledger.trajectory("zz")


def shard_file(run: Path, table: str = "turns") -> Path:
    (found,) = (run / table).glob("*.parquet")
    return found


def test_flipped_bytes_of_a_shard_are_named_and_harm_nothing_else(tmp_path: Path) -> None:
    ledger = StoredLedger(str(tmp_path), create=True)
    ledger.commit(REF, trajectories=[make_trajectory("a")])
    current(ledger)
    path = shard_file(tmp_path)
    blob = bytearray(path.read_bytes())
    blob[len(blob) // 2] ^= 0xFF
    path.write_bytes(blob)
    ledger.commit(REF, trajectories=[make_trajectory("b")])
    fresh = StoredLedger(str(tmp_path))
    with pytest.raises(DamagedError, match=f"{path.name}: damaged.*every other shard is intact"):
        list(fresh.trajectories())
    with pytest.raises(DamagedError, match=path.name):
        query(fresh, "SELECT * FROM turns")
    b = make_trajectory("b")
    assert fresh.trajectory(b.trajectory_id) == b


def test_a_shard_whose_file_is_gone_counts_as_never_done(tmp_path: Path) -> None:
    ledger = StoredLedger(str(tmp_path), create=True)
    ledger.commit(REF, trajectories=[make_trajectory("a")])
    ledger.commit(REF, trajectories=[make_trajectory("b")])
    current(ledger)
    (first, _) = ledger.state.shards
    (tmp_path / first.files["turns"].path).unlink()
    fresh = StoredLedger(str(tmp_path))
    assert [t.slot_id for t in fresh.trajectories()] == ["b"]
    assert "a" not in fresh.state.slots
    (line,) = lost_lines(fresh.state)
    assert line == (
        f"{tmp_path / first.files['turns'].path}: missing; the 1 trajectories of its shard (stage "
        "rollout) count as never made: "
        "run the flow again to fill their slots again, or put the file back from a backup"
    )


def test_a_flipped_byte_in_the_manifest_is_named(tmp_path: Path) -> None:
    ledger = StoredLedger(str(tmp_path), create=True)
    ledger.commit(REF, trajectories=[make_trajectory("a")])
    line = tmp_path / "manifest" / "00000001"
    line.write_bytes(line.read_bytes().replace(b"rollout", b"rollouT"))
    with pytest.raises(DamagedError, match="00000001: damaged manifest line"):
        StoredLedger(str(tmp_path))


def test_half_written_temporary_files_are_part_of_nothing(tmp_path: Path) -> None:
    ledger = StoredLedger(str(tmp_path), create=True)
    ledger.commit(REF, trajectories=[make_trajectory("a")])
    (tmp_path / "turns" / ".tmp-999999999-dead").write_bytes(b"PAR1 half")
    current(ledger)
    assert len(list(StoredLedger(str(tmp_path)).trajectories())) == 1
    assert query(ledger, "SELECT count(*) FROM turns_all").fetchall() == [(2,)]
    assert ledger.storage.leftovers("turns") == [".tmp-999999999-dead"]
