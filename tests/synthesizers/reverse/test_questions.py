"""Look-ups become questions: answered only after looking, not from the goal, and not by the
commonest answer of a hundred worlds.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from synth.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.flow import Flow
from synth.schemas.task import Task
from tests.flow_files import run_flow
from tests.synthesizers.reverse.deriving_on_shelves import tasks_of
from tests.synthesizers.reverse.drawer_world import WORLDS, elsewhere
from tests.synthesizers.reverse.killing import killed_at_step

pytestmark = pytest.mark.slow


def drawer_flow(world: str = "WORLD", later: Sequence[Any] = (), **settings: Any) -> Flow:
    return Flow.model_validate(
        {
            "name": "drawers",
            "seed": 3,
            "env": {"name": f"{WORLDS}:{world}", "tasks": 0, **settings},
            "models": {"explorer": {"policy": "expert"}},
            "stages": [
                {
                    "reverse_task": {
                        "explorations": 6,
                        "shard": 2,
                        "steps": 20,
                        "per_exploration": 6,
                    }
                },
                *later,
            ],
        }
    )


def questions(url: Path, flow: Flow) -> tuple[dict[str, Any], list[Task]]:
    """The stage's report, and the tasks that ask for an answer."""
    _, reports, _ = run_flow(flow, str(url))
    return dict(reports["reverse_task"]), [
        task for task in tasks_of(url).values() if task.difficulty["question"]
    ]


def test_a_question_passes_all_eight_tests_and_does_not_hold_its_answer(tmp_path: Path) -> None:
    report, asked = questions(tmp_path / "run", drawer_flow())
    assert report["details"]["questions"] == len(asked) >= 3
    for task in asked:
        assert task.check is not None
        assert (len(task.check.told), task.check.required) == (task.difficulty["operations"], ())
        assert not [fact for fact in task.check.told if str(fact.value) in task.goal]
        assert all(test["passed"] is True for test in task.difficulty["tests"].values())
        assert (
            task.difficulty["tests"]["T7"]["of"],
            task.difficulty["tests"]["T7"]["commonest_answer"] <= 0.2,
        ) == (100, True)
        assert set(task.difficulty["signature"].split(" + ")) == {"read?"}


def test_the_commonest_answer_over_a_hundred_seeds_is_counted(tmp_path: Path) -> None:
    _, asked = questions(tmp_path / "run", drawer_flow(span=40))
    for task in asked:
        said = [tuple(fact.value for fact in elsewhere(task, seed)) for seed in range(100)]
        assert (
            task.difficulty["tests"]["T7"]["commonest_answer"] == max(map(said.count, said)) / 100
        )
    assert asked


@pytest.mark.parametrize(
    ("world", "settings", "reason"),
    [
        ("WORLD", {"span": 3}, "T7_answer_can_be_guessed"),
        ("WORLD", {"tells": True}, "answer_in_the_goal"),
        ("WORLD", {"blind": True}, "T1_true_at_the_start"),
        ("NOWHERE_ELSE", {}, "T7_too_few_worlds"),
    ],
)
def test_a_question_that_needs_no_looking_is_no_task(
    tmp_path: Path, world: str, settings: dict[str, Any], reason: str
) -> None:
    report, asked = questions(tmp_path / "run", drawer_flow(world, **settings))
    assert report["rejected"][reason] > 0
    assert [task for task in asked if task.difficulty["operations"] == 1] == []


def test_killed_in_the_middle_and_run_again_the_same_questions_are_kept(tmp_path: Path) -> None:
    url = str(tmp_path / "killed")
    killed_at_step(4, drawer_flow(), url)
    assert tasks_of(tmp_path / "killed") == {}
    run_flow(drawer_flow(), url)
    run_flow(drawer_flow(), str(tmp_path / "whole"))
    assert tasks_of(tmp_path / "killed") == tasks_of(tmp_path / "whole")
    assert solvable(tmp_path / "killed") == solvable(tmp_path / "whole")


def solvable(url: Path) -> dict[str, float | None]:
    with connect(StoredLedger(str(url))) as connection:
        return dict(
            connection.execute(
                "SELECT subject_id, value FROM scores WHERE metric = 't8_solvable'"
            ).fetchall()
        )


def test_what_an_expert_solved_and_no_trial_did_is_found_by_a_question_to_the_ledger(
    tmp_path: Path,
) -> None:
    """Whoever acts at random answers no question: these are unsolved, and known to be solvable."""
    flow = drawer_flow(later=[{"rollout": {"trials": 2}}]).model_dump(mode="json")
    flow["models"] = {"explorer": {"policy": "random"}}
    url = tmp_path / "run"
    run_flow(Flow.model_validate(flow), str(url))
    sql = """
    SELECT task_id FROM tasks
    JOIN scores ON subject_id = task_id AND metric = 't8_solvable' AND value = 1
    WHERE task_id NOT IN (SELECT task_id FROM trajectories WHERE outcome = 'success')
    """
    with connect(StoredLedger(str(url))) as connection:
        found = {identity for (identity,) in connection.execute(sql).fetchall()}
    solved = {
        trial.task_id
        for trial in StoredLedger(str(url)).trajectories()
        if trial.outcome == "success"
    }
    assert found == {identity for identity, value in solvable(url).items() if value == 1.0} - solved
    assert {task.task_id for task in tasks_of(url).values() if task.difficulty["question"]} <= found
