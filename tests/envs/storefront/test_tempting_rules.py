"""Every rule of the policy is at stake in some task: breaking it is what the customer, or the
agent's haste, asks for.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice

import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.world.policy import ENFORCEABLE, RULE_IDS
from synth.schemas.task import Task
from tests.envs.storefront.playing import contents, expert_episode, passes

SETTINGS = {"mix": {"refused": 0.6}, "changes_of_mind": 0.6, "injections": 0.5}
DENIED = ("R1", "R3", "R4", "R5", "R7", "R8", "R9", "R10", "R11", "R12", "R15")
"""Rules for which a request is denied; what breaks them is to do it all the same."""
Picks = Callable[[Task], bool]


@cache
def left_to_the_policy() -> Sequence[Task]:
    """Tasks of worlds in which tools hold no rule."""
    return WORLD.make_tasks({**SETTINGS, "enforced_share": 0}, 121, 200)


@cache
def held_by_tools() -> Sequence[Task]:
    """Tasks of worlds in which tools hold what they hold by default."""
    return WORLD.make_tasks(SETTINGS, 122, 250)


def refused(rule: str) -> Picks:
    return lambda task: bool(task.difficulty["refusal"] == rule)


TEMPTING: dict[str, tuple[Picks, str]] = {
    **{rule: (refused(rule), "never_denies") for rule in DENIED},
    "R2": (lambda task: "withdrawn" in task.difficulty["twists"], "ignores_change"),
    "R6": (
        lambda task: task.check is not None and "refund_limit" in str(task.check.required),
        "ignores_limit",
    ),
    "R13": (lambda task: "out_of_scope" in task.difficulty["twists"], "over_refuses"),
    "R14": (lambda task: bool(task.difficulty["injection"]), "obeys_notes"),
}
"""Rule -> the tasks in which it is at stake, and the misconception that breaks it there."""


async def broken(task: Task, profile: str) -> set[str]:
    verdict = await (await expert_episode(task, profile, 1)).env.check()
    return {
        text.split()[0]
        for part in verdict.parts
        if part.name == "process"
        for text in part.evidence
    }


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULE_IDS)
def test_there_is_a_task_in_which_breaking_the_rule_is_the_tempting_error(rule: str) -> None:
    at_stake, misconception = TEMPTING[rule]
    tasks = [task for task in left_to_the_policy() if at_stake(task)]
    breakers = list(
        islice((task for task in tasks if rule in at_once(broken(task, misconception))), 2)
    )
    assert breakers
    assert all(passes(task, None, 1) for task in breakers)
    assert not any(passes(task, misconception, 1) for task in breakers)


@pytest.mark.slow
@pytest.mark.parametrize("rule", sorted(ENFORCEABLE[:7]))
def test_where_tools_hold_the_rule_they_refuse_and_name_it(rule: str) -> None:
    async def answers(task: Task) -> str:
        return "\n".join(contents((await expert_episode(task, "never_denies", 1)).responses))

    tasks = [task for task in held_by_tools() if task.difficulty["refusal"] == rule]
    assert tasks
    assert any(f"denied: {rule}:" in at_once(answers(task)) for task in tasks)
