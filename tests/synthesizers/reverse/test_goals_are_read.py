"""T8 tells an expert that reads the goal from one that plans from the check."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from synth.envs.conformance.finding import ConformanceRig
from synth.schemas.check import Check, RowPredicate
from synth.schemas.environment import AgentTurn
from synth.schemas.task import Task
from synth.synthesizers.rejected import RejectedError
from synth.synthesizers.reverse.goal_tests import letters_of, solved, why_undefined
from tests.synthesizers.reverse.shelf_world import NAME, WORLD, Shelf, ShelfConfig, call, start_of

ITEM, OTHER = "cup-1", "cup-2"
START = start_of(ShelfConfig())


class Blind(Shelf):
    """Its expert looks at the check alone."""

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        for row in self._task.check.required if self._task and self._task.check else ():
            if self._facts[f"items/{row.where['id']}/colour"] != row.where["colour"]:
                return call("paint", item=str(row.where["id"]), colour=str(row.where["colour"]))
        return call("finish")


def opened(config: Mapping[str, Any]) -> Blind:
    return Blind(ShelfConfig.model_validate(dict(config)))


def painted(item: str, goal: str = "") -> Task:
    """A task to give an item another colour than it has."""
    colour = "red" if START[f"items/{item}/colour"] != "red" else "blue"
    return Task.identified(
        env=NAME,
        env_config={},
        goal=goal or f"paint {item} {colour}.",
        seed=1,
        check=Check(required=(RowPredicate("items", {"id": item, "colour": colour}),)),
    )


def t8(world: Any, task: Task, other: str | None) -> dict[str, Any]:
    async def known(_: Task) -> str | None:
        return other

    bench = ConformanceRig(world, {}, 1, (task,))
    return asyncio.run(solved(bench, task, known))[1]


def test_an_expert_that_reads_passes_from_the_goal_and_from_no_other_text() -> None:
    found = t8(WORLD, painted(ITEM), painted(OTHER).goal)
    assert found["passed"] is True
    assert found["fails_with"] == ["the goal of another task", "letters in a drawn order"]


def test_an_expert_that_plans_from_the_check_leaves_the_test_undefined() -> None:
    found = t8(replace(WORLD, open=opened), painted(ITEM), painted(OTHER).goal)
    assert found["passed"] is None
    assert why_undefined({"tests": {"T8": found}}) == (
        "the expert does not read goals: it passes with the goal of another task"
    )


def test_without_another_goal_the_test_is_undefined() -> None:
    assert t8(WORLD, painted(ITEM), None)["passed"] is None


def test_a_goal_of_letters_is_solved_by_nobody_who_reads() -> None:
    task = painted(ITEM, "xqz wvu tsr")
    with pytest.raises(RejectedError, match="T8_not_solved_from_the_goal"):
        t8(WORLD, task, painted(OTHER).goal)


def test_drawn_letters_are_those_of_the_goal() -> None:
    task = painted(ITEM)
    assert sorted(letters_of(task).replace(" ", "")) == sorted(task.goal.replace(" ", ""))
    assert letters_of(task) != task.goal
