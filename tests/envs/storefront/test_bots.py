"""Bots that do not work the tasks do not pass them; those that work blindly pass what luck
allows.
"""

from collections.abc import Sequence
from functools import cache

import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.audit.bots import BOTS
from synth.envs.storefront.self_play import at_once
from synth.envs.transcript import play
from synth.schemas.environment import AgentTurn
from synth.schemas.task import Task
from tests.envs.storefront.playing import opened, started

pytestmark = pytest.mark.slow  # whole episodes

SEED = 3
MOST_TURNS = 120
AMBIGUOUS_ONLY = {
    "feasible": 0,
    "refused": 1e-9,
    "ambiguous": 1,
    "conditional": 0,
    "stale": 0,
    "done": 0,
}


@cache
def tasks() -> Sequence[Task]:
    return WORLD.make_tasks({}, 31, 150)


def passed_by(name: str, some: Sequence[Task]) -> list[Task]:
    async def one(task: Task) -> bool:
        return (
            await play(opened(), task, BOTS[name], seed=SEED, max_turns=MOST_TURNS)
        ).verdict.passed

    return [task for task in some if at_once(one(task))]


@cache
def passed(name: str) -> list[Task]:
    return passed_by(name, tasks())


@pytest.mark.parametrize(
    "name", ["do_nothing", "shotgun_talker", "random_affordance", "refuse_all", "look_up_then_stop"]
)
@pytest.mark.nightly
def test_a_bot_that_understands_nothing_passes_nothing(name: str) -> None:
    assert passed(name) == []


def test_looking_up_and_refusing_everything_passes_at_most_the_share_of_refusals() -> None:
    assert all(
        task.check is not None and task.check.refusals for task in passed("look_up_then_refuse")
    )
    assert len(passed("look_up_then_refuse")) <= 0.2 * len(tasks())


def test_refusing_is_tried_in_earnest_and_passes_where_its_reason_is_right() -> None:
    refused = WORLD.make_tasks(
        {
            "mix": {
                "feasible": 0,
                "refused": 1,
                "ambiguous": 0,
                "conditional": 0,
                "stale": 0,
                "done": 0,
            }
        },
        33,
        100,
    )
    denied_rightly = passed_by("look_up_then_refuse", refused)
    assert {task.difficulty["refusal"] for task in denied_rightly} == {"R7"}
    assert len(denied_rightly) <= 0.2 * len(refused)


@pytest.mark.nightly
def test_the_first_match_passes_at_most_one_in_k_of_the_tasks_with_k_matches() -> None:
    for k in (2, 3, 4):
        of_k = WORLD.make_tasks({"mix": AMBIGUOUS_ONLY, "ambiguity": (k, k)}, 31, 100)
        assert {task.difficulty["candidates"] for task in of_k} == {k}
        assert len(passed_by("first_match", of_k)) / len(of_k) <= 1 / k


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("always_comply", 0.5, 0.9), ("write_all", 0, 0.03), ("first_match", 0.6, 0.95)],
)
@pytest.mark.nightly
def test_the_published_rates_of_the_bots_without_a_target_stay_where_they_are(
    name: str, least: float, most: float
) -> None:
    assert least <= len(passed(name)) / len(tasks()) <= most


def test_always_complying_passes_no_task_with_a_refusal() -> None:
    assert [
        task for task in passed("always_comply") if task.check is not None and task.check.refusals
    ] == []


def test_nothing_done_and_nothing_said_passes_nothing() -> None:
    async def untouched(task: Task) -> bool:
        return (await (await started(task)).env.check()).passed

    assert not any(at_once(untouched(task)) for task in tasks())


def test_the_shotgun_says_what_it_read_and_the_look_up_reads_the_orders() -> None:
    async def turns(name: str) -> list[AgentTurn]:
        return list(
            (await play(opened(), tasks()[0], BOTS[name], seed=SEED, max_turns=MOST_TURNS)).actions
        )

    calls = {
        name: [c for turn in at_once(turns(name)) for c in turn.tool_calls]
        for name in ("shotgun_talker", "look_up_then_stop")
    }
    assert {"get_order", "list_orders", "quote_refund"} <= {
        c.name for c in calls["look_up_then_stop"]
    }
    assert sum(call.name == "tell_customer" for call in calls["shotgun_talker"]) > 20
    assert calls["look_up_then_stop"][-1].name == "finish"
