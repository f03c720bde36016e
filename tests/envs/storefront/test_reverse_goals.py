"""Goals for what an exploration did: tasks like the template ones, refusals for what tools refused,
none where the policy was broken.
"""

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.truth.monitor import truth_of
from synth.envs.bots import BOTS as GENERIC
from synth.envs.storefront import WORLD
from synth.envs.storefront.customer.script import read_script
from synth.envs.storefront.reverse.trials import FIRST_WORLD
from synth.envs.storefront.self_play import at_once
from synth.envs.transcript import play
from synth.schemas.reverse import NoGoal
from synth.schemas.task import Task
from tests.envs.storefront.exploring import (
    DONE,
    found,
    one,
    solution,
    task_of,
    then,
    wandered,
)
from tests.envs.storefront.playing import expert_episode
from tests.envs.storefront.reverse_windows import STRATEGIES, survivors

HARD = {"enforced_share": 0.66}
"""Worlds in which tools hold ten rules."""


LAX = {"enforced_share": 0.0}
"""Worlds in which no tool holds a rule."""


TOOL_OF = {
    "R3": "cancel_order",
    "R5": "issue_refund",
    "R7": "modify_lines",
    "R9": "apply_coupon",
    "R11": "change_address",
}


TOOL_OF |= {
    "R12": "issue_refund",
    "R15": "create_return",
    "R4": "create_return",
    "R8": "create_return",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", DONE)
def test_what_was_done_is_a_task_that_the_expert_solves_and_no_mutant_of_its_solution_does(
    kind: str,
) -> None:
    async def try_out() -> tuple[Task, list[bool], tuple[int, list[str]]]:
        task = await (await found(DONE[kind], {})).task()
        return (
            task,
            [(await solution(task, seed)).verdict.passed for seed in STRATEGIES],
            await survivors(task),
        )

    task, solved, (made, alive) = at_once(try_out())
    assert [request.kind for request in read_script(task.script).requests] == [
        kind.partition(" ")[0]
    ]
    assert solved == [True] * len(STRATEGIES)
    assert made >= 5
    assert alive == []


@pytest.mark.slow
@pytest.mark.parametrize("rule", TOOL_OF)
def test_what_a_tool_refused_by_a_rule_is_a_request_that_the_expert_denies(rule: str) -> None:
    async def try_out() -> tuple[Task, list[bool], list[str], tuple[int, list[str]]]:
        task = await (
            await found(
                one(TOOL_OF[rule], refused_by=rule), HARD if rule in ("R4", "R8") else {}, range(60)
            )
        ).task()
        solutions = [await solution(task, seed) for seed in STRATEGIES]
        denials = [
            c.arguments
            for turn in solutions[0].actions
            for c in turn.tool_calls
            if c.name == "deny"
        ]
        return task, [one.verdict.passed for one in solutions], denials, await survivors(task)

    task, solved, denials, (made, alive) = at_once(try_out())
    assert task.check is not None
    assert [(refusal.request, refusal.rule) for refusal in task.check.refusals] == [("1", rule)]
    assert task.check.required == ()
    assert solved == [True] * len(STRATEGIES)
    assert len(denials) == 1
    assert f'"{rule}"' in denials[0]
    assert made >= 5
    assert alive == []


@pytest.mark.slow
def test_who_does_nothing_or_complies_with_everything_solves_no_refusal() -> None:
    async def try_out() -> list[bool]:
        desk = await found(then(one("cancel_order", refused_by="R3"), one("change_address")), {})
        task = await desk.task()
        idle = await play(WORLD.open({}), task, GENERIC["do_nothing"], seed=0)
        env = WORLD.open({})
        await env.reset(task)
        while not (await env.step(await env.expert("never_denies", 0))).done:
            pass
        return [
            idle.verdict.passed,
            (await env.check()).passed,
            (await solution(task)).verdict.passed,
        ]

    assert at_once(try_out()) == [False, False, True]


@pytest.mark.slow
def test_bots_solve_no_task_of_an_exploration() -> None:
    async def try_out() -> set[bool]:
        tasks = [
            await (await found(deed, {})).task()
            for deed in (DONE["cancel"], DONE["return"], one("cancel_order", refused_by="R3"))
        ]
        bots = [GENERIC["do_nothing"], GENERIC["refuse_all"], *WORLD.bots.values()]
        return {
            (await play(WORLD.open({}), task, bot, seed=0)).verdict.passed
            for task in tasks
            for bot in bots
        }

    assert len(WORLD.bots) >= 3
    assert at_once(try_out()) == {False}


def test_several_deeds_are_numbered_requests_of_one_goal_in_their_order() -> None:
    async def try_out() -> tuple[Task, bool]:
        desk = await found(
            then(one("change_address"), one("cancel_order"), DONE["return"], DONE["out_of_scope"]),
            {"changes_of_mind": 0},
        )
        task = await desk.task()
        return task, (await solution(task)).verdict.passed

    task, solved = at_once(try_out())
    requests = read_script(task.script).requests
    assert [(request.number, request.kind) for request in requests] == [
        (1, "address"),
        (2, "cancel"),
        (3, "return"),
        (4, "out_of_scope"),
    ]
    assert all(f"{request.number}. {request.text}" in task.goal for request in requests)
    assert solved


@pytest.mark.slow
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(
    st.integers(0, 10_000),
    st.sampled_from([{}, HARD, LAX, {"variant": "held_out"}, {"dialogue": False}, {"level": 1.0}]),
)
def test_whatever_an_explorer_does_becomes_a_task_that_the_expert_solves_or_none(
    seed: int, config: dict[str, Any]
) -> None:
    async def explore() -> bool | str:
        desk = await wandered({**config, "world_seed": FIRST_WORLD + seed}, Random(seed), 4)
        draft = await desk.drafted()
        if isinstance(draft, NoGoal):
            return draft.reason
        return (await solution(task_of(await desk.window(), draft), seed)).verdict.passed

    assert at_once(explore()) in (
        True,
        "half_a_return",
        "held_out_composition",
        "nothing_asked_for",
        "no_words:address",
    )


@pytest.mark.slow
def test_the_monitor_finds_every_write_and_every_denial_of_the_expert_justified() -> None:
    async def labelled(seed: int) -> tuple[set[str], set[bool]]:
        desk = await wandered({"world_seed": FIRST_WORLD + seed}, Random(seed), 3)
        draft = await desk.drafted()
        if isinstance(draft, NoGoal):
            return set(), set()
        task = task_of(await desk.window(), draft)
        episode = await expert_episode(task, None, seed)
        truth = await truth_of(task, episode.trajectory(await episode.env.check()))
        return {write.label for write in truth.writes}, {
            denial.grounded for denial in truth.denials
        }

    writes, denials = zip(*(at_once(labelled(seed)) for seed in range(25)), strict=True)
    assert set.union(*writes) == {"justified"}
    assert set.union(*denials) == {True}
