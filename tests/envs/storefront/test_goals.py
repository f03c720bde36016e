"""Tasks: the same ones for the same seed, without limit, of the stated mix, and not to be guessed."""

import re

import pytest

from envs.storefront import WORLD
from schemas.errors import ConfigError

TASKS = WORLD.make_tasks({}, 61, 400)


def test_the_same_seed_gives_the_same_tasks_and_a_longer_list_starts_with_the_shorter() -> None:
    assert WORLD.make_tasks({}, 61, 30) == TASKS[:30]
    assert WORLD.make_tasks({}, 62, 30) != TASKS[:30]
    assert len({task.task_id for task in TASKS}) == len(TASKS)


def test_about_half_of_the_tasks_have_three_operations_or_more() -> None:
    counts = [task.difficulty["operations"] for task in TASKS]
    assert set(counts) == {1, 2, 3, 4, 5, 6}
    assert 0.42 <= sum(count >= 3 for count in counts) / len(counts) <= 0.6


def test_fifteen_to_twenty_per_cent_contain_a_refusal_of_more_than_one_kind() -> None:
    refused = [task.difficulty["refusal"] for task in TASKS if task.difficulty["refusal"] is not None]
    assert 0.13 <= len(refused) / len(TASKS) <= 0.23
    assert {"R3", "R4"} <= set(refused)


def test_referents_are_by_id_and_by_description_and_some_descriptions_are_ambiguous() -> None:
    assert sum(task.difficulty["by_description"] > 0 for task in TASKS) > 100
    assert sum(task.difficulty["ambiguous"] > 0 for task in TASKS) > 40
    assert sum(" order O-" in task.goal for task in TASKS) > 100


def test_no_value_that_must_be_told_stands_in_the_goal() -> None:
    for task in TASKS:
        assert task.check is not None
        for fact in task.check.told:
            shown = f"{fact.value / 100:.2f}" if fact.type == "money" and isinstance(fact.value, int) else str(fact.value)
            assert shown not in task.goal


def test_the_stated_requests_hold_no_id_that_the_goal_does_not_say() -> None:
    for task in TASKS:
        stated = [value for request in task.script["requests"] for value in request.values() if isinstance(value, str)]
        assert all(found in task.goal for value in stated for found in re.findall(r"[A-Z]+-\d+", value))


def test_settings_bound_the_operations() -> None:
    assert {task.difficulty["operations"] for task in WORLD.make_tasks({"operations": [3, 4]}, 1, 60)} == {3, 4}
    assert all(task.difficulty["refusal"] is None for task in WORLD.make_tasks({"refusal_share": 0}, 1, 60))


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"operation": [1, 2]}, "env.operation"), ({"operations": [0, 2]}, "operations 0"), ({"orders": 3}, "env.orders")],
)
def test_a_wrong_setting_is_named(settings: dict[str, object], named: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(named)):
        WORLD.make_tasks(settings, 1, 1)
    with pytest.raises(ConfigError, match=re.escape(named)):
        WORLD.open(settings)
