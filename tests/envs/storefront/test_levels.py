"""One number for all dials: settings between, tasks between, and the expert solves them at every
level.
"""

from collections import Counter
from itertools import pairwise

import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.self_play import played
from synth.envs.storefront.world.config import STEPS, settings_at, validated
from synth.schemas.errors import ConfigError


def test_settings_of_a_rising_level_are_valid_and_harder() -> None:
    levels = [settings_at(at / 20) for at in range(21)]
    assert all(validated(settings) for settings in levels)
    assert all(easy["false_claims"] < hard["false_claims"] for easy, hard in pairwise(levels))
    assert all(
        easy["operations"] <= hard["operations"] and easy["page_size"] >= hard["page_size"]
        for easy, hard in pairwise(levels)
    )
    assert (levels[0]["operations"], levels[-1]["operations"]) == ((1, 1), (6, 6))


def test_a_level_sets_the_dials_that_are_not_given() -> None:
    config = validated({"level": 1, "operations": [2, 3], "page_size": 7})
    assert (config.operations, config.page_size) == ((2, 3), 7)
    assert (config.false_claims, config.transient_rate) == (1, 0.08)
    assert validated({"level": None}) == validated({})
    with pytest.raises(ConfigError, match=r"env\.level"):
        validated({"level": 1.5})


@pytest.mark.slow
def test_tasks_between_two_steps_are_of_either_in_proportion_and_pairs_stay_together() -> None:
    tasks = WORLD.make_tasks({"level": 2.25 / STEPS}, 5, 400)
    steps = Counter(task.difficulty["level"] * STEPS for task in tasks)
    assert set(steps) == {2, 3}
    assert steps[3] / len(tasks) == pytest.approx(
        0.25, abs=0.09
    )  # 200 blocks: a standard deviation of 0.031
    assert all(
        one.difficulty["level"] == two.difficulty["level"]
        for one, two in zip(tasks[::2], tasks[1::2], strict=True)
    )
    pairs = Counter(
        task.difficulty["pair"] for task in tasks if task.difficulty["pair"] is not None
    )
    assert pairs
    assert set(pairs.values()) == {2}


@pytest.mark.slow
def test_a_level_on_a_step_has_tasks_of_that_step_and_a_longer_list_starts_with_the_shorter() -> (
    None
):
    tasks = WORLD.make_tasks({"level": 1}, 6, 8)
    assert {task.difficulty["level"] for task in tasks} == {1}
    assert WORLD.make_tasks({"level": 0.4}, 6, 9)[:4] == WORLD.make_tasks({"level": 0.4}, 6, 4)
    assert {task.difficulty["level"] for task in WORLD.make_tasks({}, 6, 4)} == {None}


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 0.3, 0.6, 1])
def test_the_expert_solves_tasks_of_every_level(level: float) -> None:
    assert [
        task.goal
        for at, task in enumerate(WORLD.make_tasks({"level": level}, 7, 60))
        if not played(task, None, at)[1]
    ] == []


@pytest.mark.parametrize(("level", "seed"), [(0, 2), (0, 1), (0.1, 1)])
@pytest.mark.slow
def test_easy_tasks_too_are_all_different_and_pairs_stay_whole(level: float, seed: int) -> None:
    tasks = WORLD.make_tasks({"level": level}, seed, 200)
    assert len({task.task_id for task in tasks}) == 200
    pairs = Counter(
        task.difficulty["pair"] for task in tasks if task.difficulty["pair"] is not None
    )
    assert set(pairs.values()) <= {2}, "the easiest level has no pairs"
