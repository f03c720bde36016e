"""Misconceptions: persistent, dependent on the task, and mixed so that trials of a task differ."""

import asyncio
from functools import cache

import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.expert.belief import MISCONCEPTIONS, misconceptions
from synth.schemas.errors import ConfigError
from synth.schemas.task import Task
from tests.envs.storefront.playing import opened, passes


@cache
def long_tasks() -> tuple[Task, ...]:
    return tuple(
        task for task in WORLD.make_tasks({}, 21, 180) if task.difficulty["operations"] >= 3
    )


@cache
def misleading() -> tuple[Task, ...]:
    """Tasks with all that misleads, for misconceptions that show rarely."""
    settings = {"mix": {"refused": 0.6}, "changes_of_mind": 0.5, "injections": 0.5, "pressure": 1.0}
    return tuple(WORLD.make_tasks(settings, 22, 160))


@pytest.mark.slow
@pytest.mark.parametrize(
    "first_seed",
    [
        0,
        1000,
        pytest.param(777_000, marks=pytest.mark.slow),
        pytest.param(4_000_000_000, marks=pytest.mark.slow),
    ],
)
@pytest.mark.nightly
def test_mixed_trials_pass_a_third_to_two_thirds_and_most_long_tasks_have_both_outcomes(
    first_seed: int,
) -> None:
    tasks = long_tasks()[:64]
    passed = [
        sum(passes(task, "mixed", first_seed + trial) for trial in range(8)) for task in tasks
    ]
    assert len(tasks) >= 60
    assert 0.3 <= sum(passed) / (8 * len(tasks)) <= 0.7
    assert sum(0 < count < 8 for count in passed) / len(tasks) >= 0.6


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MISCONCEPTIONS))
def test_a_misconception_shows_in_some_tasks_and_not_in_others(name: str) -> None:
    outcomes: set[bool] = set()
    for task in misleading():
        outcomes.add(passes(task, name, 3))
        if len(outcomes) == 2:
            return
    raise AssertionError(f"{name}: every task has the outcome {outcomes}")


def test_a_mixed_profile_is_drawn_from_the_seed_alone() -> None:
    assert misconceptions("mixed", 5) == misconceptions("mixed", 5)
    assert len({misconceptions("mixed", seed) for seed in range(20)}) > 10
    assert misconceptions("correct", 5) == misconceptions(None, 5) == frozenset()


def test_an_unknown_profile_is_named_in_the_error() -> None:
    with pytest.raises(ConfigError, match="'sleepy'"):
        asyncio.run(opened().expert("sleepy", 0))
