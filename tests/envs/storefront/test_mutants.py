"""What the check is worth: it fails wrong solutions, and accepts other right ones."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.audit.alternatives import REWRITES, alternatives
from synth.envs.storefront.audit.mutants import KINDS, mutants
from synth.envs.storefront.self_play import at_once
from synth.envs.transcript import Transcript, perform
from synth.schemas.environment import AgentTurn
from synth.schemas.task import Task
from tests.envs.storefront.playing import expert_episode, opened

TASKS = 104
STRATEGIES = (0, 1, 5)
"""Seeds with different ways to identify the customer, to order the requests and to find an order.
"""


@dataclass(frozen=True)
class Solved:
    """A task with its expert's episode."""

    task: Task
    transcript: Transcript


@cache
def solved() -> Sequence[Solved]:
    async def one(at: int, task: Task) -> Solved:
        episode = await expert_episode(task, None, at)
        verdict = await episode.env.check()
        assert verdict.passed, (task.goal, verdict.parts)
        sides = tuple(episode.turns), tuple(episode.responses)
        return Solved(task, Transcript(episode.opening, *sides, verdict))

    return [at_once(one(at, task)) for at, task in enumerate(WORLD.make_tasks({}, 61, TASKS))]


def passes(task: Task, turns: Sequence[AgentTurn]) -> bool:
    return at_once(perform(opened(), task, turns)).verdict.passed


@pytest.mark.slow
@pytest.mark.nightly
def test_at_least_ninety_five_of_a_hundred_mutants_are_killed_on_more_than_a_hundred_tasks() -> (
    None
):
    made: Counter[str] = Counter()
    alive: Counter[str] = Counter()
    per_task = []
    for one in solved():
        found = list(mutants(one.task, one.transcript))
        per_task.append(len(found))
        made.update(kind for kind, _ in found)
        alive.update(kind for kind, turns in found if passes(one.task, turns))
    assert len(per_task) > 100
    assert sum(per_task) / len(per_task) >= 10
    assert sum(count >= 10 for count in per_task) / len(per_task) >= 0.85
    assert made.keys() | {"wrong_note"} == KINDS.keys(), "template tasks ask for no note"
    assert alive.total() <= 0.05 * made.total(), alive
    assert all(alive[kind] <= 0.2 * count for kind, count in made.items()), alive


@pytest.mark.slow
def test_at_least_ninety_eight_of_a_hundred_alternative_solutions_are_accepted() -> None:
    made: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    for one in solved():
        for name, turns in alternatives(one.task, one.transcript):
            made[name] += 1
            rejected[name] += not passes(one.task, turns)
    assert made.keys() == REWRITES.keys()
    assert made.total() > 150
    assert rejected.total() <= 0.02 * made.total(), rejected


@pytest.mark.slow
def test_three_strategies_solve_every_task_in_different_ways() -> None:
    async def names(task: Task, seed: int) -> tuple[bool, tuple[str, ...]]:
        episode = await expert_episode(task, None, seed)
        return (await episode.env.check()).passed, tuple(
            c.arguments for turn in episode.turns for c in turn.tool_calls
        )

    played = [[at_once(names(one.task, seed)) for seed in STRATEGIES] for one in solved()]
    assert all(passed for ways in played for passed, _ in ways)
    assert (
        sum(len({calls for _, calls in ways}) == len(STRATEGIES) for ways in played) / len(played)
        >= 0.8
    )


@pytest.mark.slow
def test_a_solution_played_again_unchanged_passes() -> None:
    assert all(passes(one.task, one.transcript.actions) for one in solved())


@pytest.mark.slow
def test_a_check_of_outcomes_only_lets_the_breaches_of_process_live_and_nothing_else() -> None:
    async def survives(task: Task, turns: Sequence[AgentTurn]) -> bool:
        return (await perform(WORLD.open({"outcome_only": True}), task, turns)).verdict.passed

    lived: Counter[str] = Counter()
    for one in solved()[:25]:
        for kind, turns in mutants(one.task, one.transcript):
            lived[kind] += at_once(survives(one.task, turns))
    alive = {kind for kind, count in lived.items() if count}
    assert {"unconfirmed", "unseen", "leak"} <= alive
    assert alive <= {
        "unconfirmed", "unverified", "leak", "obeyed", "wrong_denial", "unseen", "false_claim",
    }  # fmt: skip
