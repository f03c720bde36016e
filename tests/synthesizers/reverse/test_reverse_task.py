"""The stage: the same tasks whatever interrupts it, unsound ones caught by name, worlds that lack
something refused in one line.
"""

from pathlib import Path

import msgspec
import pytest

from synth.engine.funnel import funnel
from synth.flows.curate import curate
from synth.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.flow import Flow
from synth.schemas.task import Origin
from synth.synthesizers.reverse.report import TESTS
from tests.flow_files import run_flow
from tests.synthesizers.reverse.deriving_on_shelves import run_shelf, shelf_flow, tasks_of
from tests.synthesizers.reverse.killing import killed_at_step
from tests.synthesizers.reverse.shelf_world import NAME

pytestmark = pytest.mark.slow

WORLDS = NAME.partition(":")[0]


def test_tasks_are_derived_with_all_eight_tests_and_every_window_is_accounted_for(
    tmp_path: Path,
) -> None:
    report, tasks = run_shelf(tmp_path / "run", shelf_flow())
    assert report["verified"] == len(tasks) > 5
    assert report["attempted"] == report["verified"] + sum(report["rejected"].values())
    for task in tasks.values():
        assert task.origin is Origin.REVERSE
        assert set(task.difficulty["tests"]) == set(TESTS)
        assert all(test["passed"] is not False for test in task.difficulty["tests"].values())
        assert task.difficulty["tests"]["T5"]["mutants"] >= 10
        assert task.gold is not None or task.difficulty["refusals"], (
            "operations that pass as they are are known actions"
        )
    read = [task.difficulty["tests"]["T8"] for task in tasks.values()]
    # a walk with one window knows no other goal, and two refusals by one rule ask for the same
    assert sum(test["passed"] is True for test in read) > len(read) / 2
    assert all(test["passed"] is True or test["why"] for test in read)
    refusals = [task for task in tasks.values() if task.check is not None and task.check.refusals]
    assert refusals, "what the world refused became tasks"
    assert {refusal.rule for task in refusals for refusal in task.check.refusals if task.check} == {
        "S1"
    }


def test_the_same_seed_gives_the_same_tasks_and_another_seed_others(tmp_path: Path) -> None:
    _, first = run_shelf(tmp_path / "first", shelf_flow())
    _, again = run_shelf(tmp_path / "again", shelf_flow())
    _, other = run_shelf(tmp_path / "other", shelf_flow().model_copy(update={"seed": 4}))
    assert first.keys() == again.keys()
    assert not first.keys() & other.keys()


def test_killed_in_the_middle_and_run_again_it_gives_the_same_tasks(tmp_path: Path) -> None:
    flow = shelf_flow()
    url = str(tmp_path / "killed")
    killed_at_step(4, flow, url)
    assert tasks_of(tmp_path / "killed") == {}, "nothing is seen before the choice among all"
    assert (
        len([shard for shard in StoredLedger(url).state.shards if shard.name.startswith("from_")])
        == 1
    ), "one shard of three was committed"
    _, _, said = run_flow(flow, url)
    assert "reverse_task: 4 explorations in" in said, "what was committed is not done again"
    _, whole = run_shelf(tmp_path / "whole", flow)
    assert tasks_of(tmp_path / "killed") == whole


def test_a_rerun_has_nothing_to_do(tmp_path: Path) -> None:
    _, tasks = run_shelf(tmp_path / "run", shelf_flow())
    _, _, said = run_flow(shelf_flow(), str(tmp_path / "run"))
    assert "reverse_task: nothing to do" in said
    assert tasks_of(tmp_path / "run") == tasks


def test_rollout_plays_the_derived_tasks_anew(tmp_path: Path) -> None:
    flow = shelf_flow(later=[{"rollout": {"trials": 2}}])
    run_flow(flow, str(tmp_path / "run"))
    played = list(StoredLedger(str(tmp_path / "run")).trajectories())
    tasks = tasks_of(tmp_path / "run")
    assert {trajectory.task_id for trajectory in played} == set(tasks)
    assert len(played) == 2 * len(tasks)
    assert {trajectory.synthesizer for trajectory in played} == {"rollout"}
    assert all(trajectory.outcome == "success" for trajectory in played), (
        "T8: the expert solves them"
    )


def test_what_was_explored_stands_in_the_funnel_of_a_later_curation(tmp_path: Path) -> None:
    report, tasks = run_shelf(tmp_path / "run", shelf_flow(later=[{"rollout": {"trials": 1}}]))
    later = Flow.model_validate({"name": "later", "stages": ["topology"]})
    for _ in range(2):
        _, reports, _ = run_flow(later, str(tmp_path / "run"), curate)
        rows = {row.stage: (row.came_in, row.went_on) for row in funnel(reports)}
        assert rows["reverse_task"] == (report["attempted"], len(tasks))
        assert list(rows) == ["tasks", "reverse_task", "rollout", "topology"]


@pytest.mark.parametrize(
    ("hole", "caught"),
    [
        ("passes_everything", {"T6_random_affordance_passes", "T8_not_solved_from_the_goal"}),
        ("expert_lost", {"T8_not_solved_from_the_goal"}),
        ("one_order_only", {"T4_strategy_rejected"}),
        ("ignores_protected", {"T5_mutants_survive"}),
        ("everything_is_free", {"nothing_to_check"}),
    ],
)
def test_an_unsound_check_is_caught_by_name(tmp_path: Path, hole: str, caught: set[str]) -> None:
    sound, _ = run_shelf(tmp_path / "sound", shelf_flow().model_copy(update={"seed": 8}))
    report, _ = run_shelf(tmp_path / "run", shelf_flow(hole=hole).model_copy(update={"seed": 8}))
    for reason in caught:
        assert report["rejected"].get(reason, 0) > sound["rejected"].get(reason, 0)
        assert report["details"]["examples"][reason]


@pytest.mark.parametrize(
    ("world", "caught"),
    [
        ("PASSING_MUTANT", "T5_planted_survives"),
        ("FAILING_ALTERNATIVE", "T4_planted_rejected"),
        ("KNOWING_BOT", "T6_planted_passes"),
    ],
)
def test_what_a_world_names_for_itself_is_held_to(tmp_path: Path, world: str, caught: str) -> None:
    report, tasks = run_shelf(tmp_path / "run", shelf_flow(world=f"{WORLDS}:{world}"))
    assert not tasks
    assert report["rejected"][caught] > 5


def test_a_refusal_that_nothing_checks_is_no_task(tmp_path: Path) -> None:
    report, tasks = run_shelf(tmp_path / "run", shelf_flow(world=f"{WORLDS}:UNCHECKED_REFUSALS"))
    assert report["rejected"]["refusal_not_checked"] > 0
    assert tasks
    assert not [task for task in tasks.values() if "!" in task.difficulty["signature"]]


def test_an_operation_that_the_goal_does_not_need_leaves_the_window(tmp_path: Path) -> None:
    _, tasks = run_shelf(
        tmp_path / "run", shelf_flow(hole="colour_is_free", stage={"explorations": 20, "shard": 10})
    )
    assert not [task.goal for task in tasks.values() if "paint" in task.goal], (
        "colours are free: no goal asks for one"
    )
    assert [
        task
        for task in tasks.values()
        if "move" in task.difficulty["signature"] and task.check.required
    ]


def test_at_most_so_many_are_kept_and_of_different_kinds_first(tmp_path: Path) -> None:
    every, all_tasks = run_shelf(tmp_path / "all", shelf_flow())
    few, tasks = run_shelf(tmp_path / "few", shelf_flow(stage={"tasks": 4}))
    assert every["details"]["kinds"] == 4 < len(all_tasks)
    assert (len(tasks), few["details"]["kinds"]) == (4, 4)
    assert few["rejected"]["more_than_asked_for"] == len(all_tasks) - 4
    assert tasks.keys() < all_tasks.keys()


@pytest.mark.parametrize(
    ("world", "said"),
    [
        (
            "NO_FACTS",
            r"stages\[0\].reverse_task: reverse_task explores by affordances and checks by facts; "
            r"world .* does not claim facts$",
        ),
        ("NO_WAYS", r"does not claim affordances nor facts$"),
        (
            "NO_RULES",
            r"has no rules that say what was achieved \(EnvEntry.write_goal\); let a model say it: "
            r"`role: writer`",
        ),
    ],
)
def test_a_world_that_lacks_something_is_refused_in_one_line_before_anything_is_made(
    tmp_path: Path, world: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        run_flow(shelf_flow(world=f"{WORLDS}:{world}"), str(tmp_path / "run"))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_flow_without_a_world_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="reverse_task needs a world"):
        run_flow(
            Flow.model_validate({"name": "x", "stages": ["reverse_task"]}), str(tmp_path / "run")
        )


def test_without_an_expert_it_is_said_that_nobody_has_solved_it_from_the_goal(
    tmp_path: Path,
) -> None:
    _, tasks = run_shelf(tmp_path / "run", shelf_flow(world=f"{WORLDS}:NO_EXPERT"))
    assert tasks
    assert {msgspec.json.encode(task.difficulty["tests"]["T8"]) for task in tasks.values()} == {
        b'{"passed":null,"why":"the world has no expert"}'
    }


def test_a_world_that_breaks_is_told_and_makes_no_task(tmp_path: Path) -> None:
    with pytest.raises(
        SynthError,
        match=r"all 6 explorations ended in faults; the first: exploration 0: RuntimeError: "
        r"planned",
    ):
        run_flow(shelf_flow(raises=True), str(tmp_path / "run"))


def test_what_each_exploration_came_to_can_be_asked(tmp_path: Path) -> None:
    report, _ = run_shelf(tmp_path / "run", shelf_flow())
    ledger = StoredLedger(str(tmp_path / "run"))
    asked = (
        "SELECT count(*), sum(value), sum(CAST(detail->>'attempted' AS INT)) FROM scores "
        "WHERE metric = 'reverse_task.exploration'"
    )
    with connect(ledger) as connection:
        (found,) = connection.execute(asked).fetchall()
    assert found == (6, report["verified"], report["attempted"])
