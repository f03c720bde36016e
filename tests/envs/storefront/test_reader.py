"""The expert reads what a customer wants from words alone: as the script has it, and not at all
where the words are others.
"""

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from synth.envs.storefront import WORLD
from synth.envs.storefront.customer.script import read_script
from synth.envs.storefront.expert.reader import ReadGoal, read_goal, standing
from synth.envs.storefront.self_play import at_once
from synth.schemas.task import Task
from tests.envs.storefront.playing import started


@pytest.mark.slow
@pytest.mark.parametrize("config", [{}, {"variant": "held_out"}, {"dialogue": False}])
def test_goals_and_changes_of_mind_are_read_as_the_script_has_them(config: dict[str, Any]) -> None:
    for task in WORLD.make_tasks(config, 77, 25):
        script, read = read_script(task.script), read_goal(task.goal)
        assert read == ReadGoal(dict(script.said_at_once()), script.requests)
        heard = [revision.text for revision in script.revisions]
        assert standing(read.requests, heard) == script.standing(heard)


def test_a_request_by_hand() -> None:
    read = read_goal(
        "Hello, this is Zoe Jensen. My zip is 93618. I have one request:\n"
        "1. Please exchange the red lamp in order O-11111 for the same in blue. "
        "Tell me the new total of the order, please."
    )
    (request,) = read.requests
    assert read.slots == {"name": "Zoe Jensen", "zip": "93618"}
    assert (request.kind, request.order_id, request.wanted) == ("exchange", "O-11111", "blue")
    assert (request.colour, request.noun, request.tell_total) == ("red", "lamp", True)


def solved_with(task: Task, goal: str) -> bool:
    async def play() -> bool:
        episode = await started(replace(task, goal=goal))
        for _ in range(60):
            if (await episode.act(await episode.env.expert())).done:
                break
        return (await episode.env.check()).passed

    return at_once(play())


def test_no_task_is_solved_from_blank_letters_or_another_goal() -> None:
    tasks = WORLD.make_tasks({}, 78, 8)
    for task in tasks:
        # the sides of a minimal pair have one goal
        other = next(other for other in tasks if other.goal != task.goal)
        drawn = Random(task.task_id)
        words = task.goal.split()
        assert solved_with(task, task.goal)
        assert not solved_with(task, " ")
        assert not solved_with(task, "".join(drawn.sample(task.goal, len(task.goal))))
        assert not solved_with(task, " ".join(drawn.sample(words, len(words))))
        assert not solved_with(task, other.goal)
