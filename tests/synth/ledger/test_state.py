"""What a run holds when files are gone: no slot loses its last record, no verdict passes from one
attempt to another.
"""

from pathlib import Path

from synth.ledger import Decision, StageRef, StoredLedger
from synth.ledger.log.lost_shards import lost_lines
from synth.ledger.log.manifest import ShardLine, SlotRecord, StageLine, StoredFile
from synth.ledger.log.state import LedgerState
from synth.ledger.sql import query
from tests.trajectories import make_fault, make_task, make_trajectory

REF = StageRef("rollout", "key1")


def contested(run: Path) -> Path:
    """Two machines fill slot `a`; the turns file of the one that was first."""
    first, second = StoredLedger(str(run), create=True), StoredLedger(str(run))
    first.commit(REF, trajectories=[make_trajectory("a", turns=1)])
    second.commit(REF, trajectories=[make_trajectory("a", turns=3), make_trajectory("b", turns=2)])
    first.begin_stage(StageLine("rollout", "key1", {}))
    return run / first.state.shards[0].files["turns"].path


def seen(run: Path) -> list[tuple[str, int]]:
    """Slot and number of turns of all that is seen, which every way of reading must agree on."""
    ledger = StoredLedger(str(run))
    found = sorted((t.slot_id, len(t.turns)) for t in ledger.trajectories())
    assert sorted(query(ledger, "SELECT slot_id, n_turns FROM trajectories").fetchall()) == found
    assert sorted(row["n_turns"] for row in ledger.records()) == sorted(turns for _, turns in found)
    assert ledger.state.current_valid() == sorted(t.trajectory_id for t in ledger.trajectories())
    return found


def test_the_second_record_of_a_slot_is_shown_when_the_first_is_lost_and_hidden_when_it_is_back(
    tmp_path: Path,
) -> None:
    winner = contested(tmp_path)
    assert seen(tmp_path) == [("a", 1), ("b", 2)]
    content = winner.read_bytes()
    winner.unlink()
    assert seen(tmp_path) == [("a", 3), ("b", 2)]
    valid = StoredLedger(str(tmp_path)).state.slots["a"].valid
    assert valid is not None
    assert valid.attempt == 1
    winner.write_bytes(content)
    assert seen(tmp_path) == [("a", 1), ("b", 2)]


def test_a_record_is_not_hidden_by_one_that_the_current_flow_does_not_see(tmp_path: Path) -> None:
    contested(tmp_path)
    ledger = StoredLedger(str(tmp_path))
    ledger.commit(StageRef("rollout", "key2"), trajectories=[make_trajectory("a", turns=4)])
    winner = ledger.state.slots["a"].valid
    assert winner is not None
    ledger.begin_stage(StageLine("rollout", "key2", {}))
    assert seen(tmp_path) == [("a", 4)]
    ledger.begin_stage(StageLine("rollout", "key2", {}, "", (winner.trajectory_id,)))
    assert seen(tmp_path) == [("a", 1)]


def test_a_slot_filled_again_gets_a_new_number_so_that_verdicts_on_the_lost_attempt_are_not_its_own(
    tmp_path: Path,
) -> None:
    ledger = StoredLedger(str(tmp_path), create=True)
    lost = make_trajectory("a", turns=1)
    ledger.commit(REF, trajectories=[lost])
    ledger.commit(
        StageRef("filter", "f"), decisions=[Decision(lost.trajectory_id, "solved", True, "success")]
    )
    turns = tmp_path / ledger.state.shards[0].files["turns"].path
    content = turns.read_bytes()
    turns.unlink()
    again = StoredLedger(str(tmp_path))
    again.commit(REF, trajectories=[make_trajectory("a", turns=2)])
    again.begin_stage(StageLine("rollout", "key1", {}))
    (filled,) = again.trajectories()
    assert (filled.attempt, len(filled.turns)) == (1, 2)
    assert query(again, "SELECT trajectory_id FROM decisions_all").fetchall() == [
        (lost.trajectory_id,)
    ], "no verdict is on the attempt that fills the slot"
    assert filled.trajectory_id != lost.trajectory_id
    turns.write_bytes(content)
    assert seen(tmp_path) == [("a", 1)]
    assert query(
        StoredLedger(str(tmp_path)), "SELECT attempt FROM trajectories_all ORDER BY 1"
    ).fetchall() == [(0,), (1,)]


def test_a_lost_shard_is_told_until_its_slots_are_filled_again(tmp_path: Path) -> None:
    ledger = StoredLedger(str(tmp_path), create=True)
    ledger.commit(
        REF, trajectories=[make_fault("a"), make_trajectory("a", 1), make_trajectory("b")]
    )
    path = tmp_path / ledger.state.shards[0].files["trajectories"].path
    path.unlink()
    again = StoredLedger(str(tmp_path))
    assert lost_lines(again.state) == [
        f"{path}: missing; the 3 trajectories of its shard (stage rollout) count as never made: "
        "run the flow again to fill their slots again, or put the file back from a backup"
    ]
    again.commit(REF, trajectories=[make_trajectory("a")])
    assert len(lost_lines(again.state)) == 1
    again.commit(REF, trajectories=[make_trajectory("b")])
    assert lost_lines(again.state) == []


def test_lost_tasks_and_lost_imports_say_what_to_do_about_them(tmp_path: Path) -> None:
    ledger = StoredLedger(str(tmp_path), create=True)
    ledger.commit(StageRef("tasks", "t"), tasks=[make_task()])
    ledger.commit(
        StageRef("import", "i"),
        trajectories=[make_trajectory("a", synthesizer="import")],
        tasks=[make_task()],
    )
    for shard in ledger.state.shards:
        (tmp_path / shard.files["tasks"].path).unlink()
    tasks, imports = lost_lines(StoredLedger(str(tmp_path)).state)
    assert (
        "the 1 tasks of its shard (stage tasks) count as never made: run the flow again to make "
        "them again, or put" in tasks
    )
    assert (
        "the 1 trajectories of its shard (stage import) count as never made: import the same "
        "sources again to fill" in imports
    )
    ledger = StoredLedger(str(tmp_path))
    ledger.commit(StageRef("tasks", "t"), tasks=[make_task()])
    assert lost_lines(ledger.state) == [imports]


def test_contested_slots_of_a_long_run_are_worked_out_once_per_line() -> None:
    state = LedgerState(stages={"rollout": StageLine("rollout", "key1", {})})
    file = {"trajectories": StoredFile("x", 2, 1, "d")}
    for attempt in range(2):
        records = tuple(SlotRecord(slot, attempt, f"{slot}{attempt}", None) for slot in ("a", "b"))
        state.fold(ShardLine("rollout", "key1", file, records))
    assert state.superseded == {"a1", "b1"}
    assert state.superseded is state.superseded
    state.fold(ShardLine("rollout", "key1", file, (SlotRecord("a", 2, "a2", None),)))
    assert state.superseded == {"a1", "b1", "a2"}
