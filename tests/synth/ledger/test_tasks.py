"""Some tasks of many files: those that are wanted."""

from pathlib import Path

from synth.ledger.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.schemas.task import Task


def task(goal: str) -> Task:
    return Task.identified(env="e", goal=goal)


def test_wanted_tasks_of_any_file_are_found_and_no_others_and_unknown_ids_are_passed_over(
    tmp_path: Path,
) -> None:
    ledger = StoredLedger(str(tmp_path / "run"), create=True)
    ledger.begin_flow({"name": "planted"})
    ledger.begin_stage(StageLine("s", "key", {}, "", ()))
    first, second = [task("a"), task("b")], [task("c"), task("a")]
    for tasks in (first, second):
        ledger.commit(StageRef("s", "key"), trajectories=[], tasks=tasks)
    wanted = {task("a").task_id, task("c").task_id, "nowhere"}
    for _ in range(2):  # the second time it is known which file holds what
        found = ledger.tasks(wanted, every=True)
        assert found == {task("a").task_id: task("a"), task("c").task_id: task("c")}
        assert ledger.tasks(wanted) == found
        assert ledger.tasks(set(), every=True) == {}
        assert ledger.tasks({task("b").task_id}) == {task("b").task_id: task("b")}
