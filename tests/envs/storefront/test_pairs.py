"""Minimal pairs: the same words, one hidden fact apart, and another right answer."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.world.config import validated
from synth.envs.storefront.world.policy import days_since
from synth.envs.storefront.world.world import world_of
from synth.schemas.task import Task

pytestmark = pytest.mark.slow  # hundreds of tasks are made


@cache
def tasks() -> Sequence[Task]:
    return WORLD.make_tasks({}, 71, 500)


def pairs() -> list[tuple[Task, Task]]:
    """(refused, its eligible twin)"""
    found: defaultdict[str, list[Task]] = defaultdict(list)
    for task in tasks():
        if task.difficulty["pair"] is not None:
            found[task.difficulty["pair"]].append(task)
    return [
        tuple(sorted(two, key=lambda t: t.difficulty["kind"], reverse=True))
        for two in found.values()
    ]  # type: ignore[misc]


def apart(one: Task, other: Task) -> dict[str, tuple[Any, Any]]:
    """The start facts in which two tasks differ, by path."""
    left, right = (world_of(validated(task.env_config)).tables for task in (one, other))
    return {
        f"{table}/{key}/{column}": (value, right[table][key][column])
        for table, rows in left.items()
        if rows is not right[table]
        for key, row in rows.items()
        for column, value in row.items()
        if right[table][key][column] != value
    }


def test_every_refused_task_has_an_eligible_twin_with_the_same_words_and_split() -> None:
    assert len(pairs()) >= 90
    for refused, eligible in pairs():
        assert [refused.difficulty["kind"], eligible.difficulty["kind"]] == ["refused", "feasible"]
        assert refused.goal == eligible.goal
        assert refused.script == eligible.script
        assert refused.split == eligible.split == "train"
        assert refused.check is not None
        assert eligible.check is not None
        assert {refusal.rule for refusal in refused.check.refusals} == {
            refused.difficulty["refusal"]
        }
        assert len(refused.check.refusals) == 1 or refused.difficulty["refusal"] == "R1"
        assert eligible.check.refusals == ()


@pytest.mark.nightly
def test_twins_start_from_worlds_that_differ_in_one_fact() -> None:
    for refused, eligible in pairs():
        assert len(apart(refused, eligible)) == 1


def test_refusals_of_every_template_occur() -> None:
    rules = {"R1", "R3", "R4", "R5", "R7", "R8", "R9", "R10", "R11", "R12", "R15"}
    assert {refused.difficulty["refusal"] for refused, _ in pairs()} == rules


def test_who_cannot_be_verified_is_denied_everything_about_their_orders_and_is_told_prices() -> (
    None
):
    unverified = [task for task in tasks() if task.difficulty["refusal"] == "R1"]
    assert unverified
    for task in unverified:
        assert task.check is not None
        assert len(task.check.refusals) == sum(
            kind != "price_query" for kind in task.difficulty["kinds"]
        )
        assert not task.check.required


def test_late_and_timely_returns_lie_within_a_week_of_each_other() -> None:
    late = [pair for pair in pairs() if pair[0].difficulty["refusal"] == "R4"]
    assert late
    for refused, eligible in late:
        ((before, after),) = apart(refused, eligible).values()
        assert 1 <= days_since(before, after) <= 7


def test_a_partial_refusal_denies_one_line_and_returns_the_others() -> None:
    partial = [task for task in tasks() if "partial_refusal" in task.difficulty["twists"]]
    assert partial
    for task in partial:
        assert task.check is not None
        assert [refusal.rule for refusal in task.check.refusals] == ["R8"]
        assert any(row.where.get("status") == "return_requested" for row in task.check.required)
