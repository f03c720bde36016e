"""Verdicts are the benchmark's own: the package's evaluators, asked apart, say the same; but a call
that was only emitted counts for nothing.
"""

from random import Random

import pytest

from synth.schemas.environment import AgentTurn
from tests.envs.tau2.installed import (
    DOMAINS,
    WORLD,
    calls,
    passed,
    solution,
    task_named,
    tasks,
    theirs,
)

BYE = AgentTurn("Goodbye.")
LOCKED = "[service_issue]airplane_mode_on|lock_sim_card_pin[PERSONA:Easy]"


@pytest.mark.parametrize("name", DOMAINS)
def test_gold_passes_and_doing_nothing_does_not(name: str) -> None:
    for task in tasks(name, 12):
        assert passed(task, solution(task)) is True
        assert passed(task, [BYE]) is False


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("telecom", 10), ("retail", 5), ("airline", 3)])
def test_the_packages_own_evaluators_say_the_same_of_solutions_with_calls_left_out(
    name: str, count: int
) -> None:
    """They read a whole database for each verdict, so there are few."""
    said = set()
    for at, task in enumerate(tasks(name, count)):
        turns = solution(task)
        draw = Random(at)
        tried = [turns, [BYE], *(_without(turns, draw) for _ in range(2))]
        for one in tried:
            verdict = theirs(task, one)
            assert passed(task, one) is verdict, (task.script["task"], one)
            said.add(verdict)
    assert said == {True, False}


def _without(turns: list[AgentTurn], draw: Random) -> list[AgentTurn]:
    left = draw.randrange(len(turns))
    return [one for at, one in enumerate(turns) if at != left]


def test_a_call_that_was_only_emitted_counts_for_nothing() -> None:
    """A transfer without a summary fails, and the package counts it all the same."""
    task = task_named("telecom", LOCKED)
    emitted = [calls(("transfer_to_human_agents", {}))]
    assert passed(task, emitted) is False
    assert passed(task, [calls(("transfer_to_human_agents", {"summary": "locked"}))]) is True


def test_what_was_told_counts_as_the_benchmark_reads_it() -> None:
    """Task 7 of the airline wants a sum to be told, which its authors wrote without a comma."""
    task = task_named("airline", "7")
    turns = solution(task)
    *done, told = turns
    assert told.content is not None
    assert "1628" in told.content
    assert passed(task, [*done, AgentTurn("Your refund is $1,628.")]) is True
    assert passed(task, [*done, AgentTurn("Your refund is $1,629.")]) is False


def test_doing_too_much_fails_where_the_database_is_compared() -> None:
    task = tasks("retail", 1)[0]
    turns = solution(task)
    user = "mia_garcia_4516"
    address = {"address1": "1 Elm Street", "address2": "", "city": "Reno", "state": "NV"}
    more = {"user_id": user, **address, "country": "USA", "zip": "89501"}
    other = calls(("modify_user_address", more))
    assert passed(task, [other, *turns]) is False
    assert theirs(task, [other, *turns]) is False


def test_tasks_that_a_transfer_solves_are_there_if_they_are_asked_for() -> None:
    plain = WORLD.make_tasks({"domain": "telecom"}, 7, 200)
    more = WORLD.make_tasks({"domain": "telecom", "transfers": True}, 7, 200)
    transfer = [calls(("transfer_to_human_agents", {"summary": "locked"}))]
    solved = [one.task_id for one in more if passed(one, transfer)]
    assert len(solved) == 20
    assert {one.task_id for one in more} - {one.task_id for one in plain} == set(solved)
