"""A run of synth comes into another one: trials with their tasks, once, and nothing that its own
run alone could judge.
"""

import shutil
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from synth.engine.progress import progress_for
from synth.importers.commit import import_into
from synth.importers.tally import ImportTally
from synth.ledger.ledger import Score, StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.ledger.log.stage_keys import evidence_key
from synth.ledger.sql import query
from synth.schemas.outcome import Fault, Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from tests.trajectories import make_fault, make_task, make_trajectory

TASK = make_task(split="held", benchmark="tau-bench/test")


def a_run(folder: Path, *trials: Trajectory, task: Task = TASK, key: str = "key") -> Path:
    ledger = StoredLedger(str(folder), create=True)
    ledger.begin_flow({"name": "theirs"})
    ledger.begin_stage(StageLine("rollout", key, {}))
    own = {"task_id": task.task_id, "benchmark": task.benchmark, "split": task.split}
    ledger.commit(
        StageRef("rollout", key),
        tasks=[task],
        trajectories=[replace(trial, **own) for trial in trials],
    )
    return folder


def brought(run: Path, *sources: Path, form: str = "auto") -> ImportTally:
    return import_into(str(run), sources, form, progress_for(quiet=True))


def all_of(run: Path) -> list[Trajectory]:
    return list(StoredLedger(str(run)).trajectories())


def counts(tally: ImportTally) -> tuple[int, int, dict[str, int]]:
    return tally.total(["trajectories"]), tally.total(["present"]), dict(tally.reasons)


def test_trials_come_with_their_task_as_it_was_and_say_where_they_come_from(tmp_path: Path) -> None:
    played: dict[str, Any] = {
        "model": "their-model",
        "sampling": {"temperature": 1.0},
        "weights_id": "w1",
        "trial": 3,
        "role": "explorer",
    }
    theirs = a_run(tmp_path / "theirs", make_trajectory("one", **played))
    assert counts(brought(tmp_path / "ours", theirs)) == (1, 0, {})
    (before,), (after,) = all_of(theirs), all_of(tmp_path / "ours")
    changed: dict[str, Any] = {
        name: getattr(after, name)
        for name in ("trajectory_id", "slot_id", "source", "content_hash")
    }
    assert after == replace(before, synthesizer="import", role=None, **changed)
    assert (after.source or "").split(":")[0::2] == ["synth", before.trajectory_id]
    assert StoredLedger(str(tmp_path / "ours")).tasks({TASK.task_id}) == {TASK.task_id: TASK}
    assert after.held_out


def test_retries_and_injected_runs_stay_with_the_run_that_judged_them(tmp_path: Path) -> None:
    base = make_trajectory("base")
    retry = make_trajectory(
        "retry",
        synthesizer="reflect_retry",
        parent_id=base.trajectory_id,
        pivot_turn=1,
        guidance="take B",
    )
    injected = make_trajectory(
        "injected", synthesizer="failure_injection", parent_id=base.trajectory_id
    )
    theirs = a_run(tmp_path / "theirs", base, retry, injected)
    assert counts(brought(tmp_path / "ours", theirs)) == (
        1,
        0,
        {"no_trial:reflect_retry": 1, "no_trial:failure_injection": 1},
    )
    assert [t.guidance for t in all_of(tmp_path / "ours")] == [None]


def test_of_a_slot_the_valid_attempt_comes_or_else_the_last_invalid_one(tmp_path: Path) -> None:
    mended = (make_fault("mended"), make_trajectory("mended", 1))
    broken = (make_fault("broken"), make_fault("broken", 1, Fault.ENVIRONMENT))
    brought(tmp_path / "ours", a_run(tmp_path / "theirs", *mended, *broken))
    assert sorted((t.outcome, t.fault) for t in all_of(tmp_path / "ours")) == [
        (Outcome.INVALID, Fault.ENVIRONMENT),
        (Outcome.SUCCESS, None),
    ]


def test_what_another_flow_of_that_run_played_does_not_come(tmp_path: Path) -> None:
    theirs = a_run(tmp_path / "theirs", make_trajectory("former"))
    a_run(theirs, make_trajectory("current"), key="another key")
    brought(tmp_path / "ours", theirs)
    seen = query(StoredLedger(str(theirs)), "SELECT trajectory_id FROM trajectories").fetchall()
    assert [((t.source or "").split(":")[2],) for t in all_of(tmp_path / "ours")] == seen
    assert len(seen) == 1


def test_a_run_that_has_grown_brings_what_is_new_also_beside_its_older_copy(tmp_path: Path) -> None:
    theirs = a_run(tmp_path / "theirs", make_trajectory("one"))
    copy = Path(shutil.copytree(theirs, tmp_path / "copy"))
    assert counts(brought(tmp_path / "ours", theirs)) == (1, 0, {})
    assert counts(brought(tmp_path / "ours", theirs)) == (0, 1, {})
    a_run(theirs, make_trajectory("two"))
    assert counts(brought(tmp_path / "ours", theirs)) == (1, 1, {})
    assert counts(brought(tmp_path / "both", copy, theirs)) == (2, 1, {})
    assert {t.trajectory_id for t in all_of(tmp_path / "both")} == {
        t.trajectory_id for t in all_of(tmp_path / "ours")
    }


def test_runs_in_a_folder_come_whole_beside_other_files(tmp_path: Path) -> None:
    a_run(tmp_path / "in" / "a", make_trajectory("one"))
    a_run(tmp_path / "in" / "deep" / "b", make_trajectory("two"))
    (tmp_path / "in" / "chat.json").write_text(
        '{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}'
    )
    tally = brought(tmp_path / "ours", tmp_path / "in")
    assert counts(tally) == (3, 0, {})
    assert {name: found["trajectories"] for name, found in tally.formats.items()} == {
        "openai_messages": 1,
        "synth": 2,
    }
    assert counts(brought(tmp_path / "other", tmp_path / "in" / "a", form="tau2")) == (
        0,
        0,
        {"unknown_format": 1},
    )
    assert counts(brought(tmp_path / "other", tmp_path / "in" / "chat.json", form="synth")) == (
        0,
        0,
        {"no_run": 1},
    )


def test_a_run_with_a_damaged_shard_leaves_nothing_behind(tmp_path: Path) -> None:
    theirs = a_run(tmp_path / "theirs", make_trajectory("one"))
    (shard,) = (theirs / "turns").glob("*.parquet")
    shard.write_bytes(b"x" * shard.stat().st_size)
    assert counts(brought(tmp_path / "ours", theirs)) == (0, 0, {"damaged_run": 1})
    assert not (tmp_path / "ours").exists()
    manifest = sorted((theirs / "manifest").iterdir())
    manifest[1].unlink()
    assert counts(brought(tmp_path / "ours", theirs)) == (0, 0, {"damaged_run": 1})


def test_one_bit_in_any_shard_rejects_the_run_also_where_nothing_is_read_from_it(
    tmp_path: Path,
) -> None:
    theirs = a_run(tmp_path / "theirs", make_trajectory("former"))
    a_run(theirs, make_trajectory("current"), key="another key")
    ledger = StoredLedger(str(theirs))
    ledger.commit(
        StageRef("critical_step", evidence_key("key")),
        trajectories=[make_trajectory("played apart")],
    )
    files = [
        theirs / file.path
        for shard in StoredLedger(str(theirs)).state.shards
        for file in shard.files.values()
    ]
    assert len(files) == 8
    for file in files:
        whole = file.read_bytes()
        file.write_bytes(whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
        assert counts(brought(tmp_path / "ours", theirs)) == (0, 0, {"damaged_run": 1}), file
        assert not (tmp_path / "ours").exists()
        file.write_bytes(whole)
    assert counts(brought(tmp_path / "ours", theirs))[2] == {}


def test_a_shard_whose_file_is_gone_is_told_and_the_others_come(tmp_path: Path) -> None:
    theirs = a_run(a_run(tmp_path / "theirs", make_trajectory("one")), make_trajectory("two"))
    next((theirs / "turns").glob("*.parquet")).unlink()
    assert counts(brought(tmp_path / "ours", theirs)) == (1, 0, {"lost_shard": 1})


def test_labels_that_an_import_brought_are_handed_on(tmp_path: Path) -> None:
    ledger = StoredLedger(str(tmp_path / "theirs"), create=True)
    trial = make_trajectory("one", synthesizer="import", task_id=TASK.task_id)
    scores = [
        Score(trial.trajectory_id, "failure_step", 1.0, 1, {"by": "people"}),
        Score(trial.trajectory_id, "f1", None),
    ]
    ledger.commit(StageRef("import", "key"), tasks=[TASK], trajectories=[trial], scores=scores)
    brought(tmp_path / "ours", tmp_path / "theirs")
    found = query(
        StoredLedger(str(tmp_path / "ours")),
        "SELECT subject_id, metric, value, turn, detail FROM scores ORDER BY metric",
    ).fetchall()
    (own,) = all_of(tmp_path / "ours")
    assert found == [
        (own.trajectory_id, "f1", None, None, None),
        (own.trajectory_id, "failure_step", 1.0, 1, '{"by":"people"}'),
    ]
