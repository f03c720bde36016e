"""Bots that do not work the tasks do not pass them."""

import asyncio
import re

from envs.storefront import WORLD
from schemas.environment import AgentTurn
from schemas.task import Task
from schemas.trajectory import ToolCall
from tests.envs.storefront.playing import call, started

TASKS = WORLD.make_tasks({}, 31, 300)
REFUSAL_SHARE = sum(task.difficulty["refusal"] is not None for task in TASKS) / len(TASKS)


async def passed(task: Task, turns: list[AgentTurn]) -> bool:
    episode = await started(task)
    for turn in turns:
        await episode.act(turn)
    return (await episode.env.check()).passed


def rate(turns_of: "dict[str, list[AgentTurn]]") -> float:
    return sum(asyncio.run(passed(task, turns_of[task.task_id])) for task in TASKS) / len(TASKS)


def test_doing_nothing_passes_no_task() -> None:
    assert rate({task.task_id: [call("finish", message="Goodbye.")] for task in TASKS}) == 0
    assert rate({task.task_id: [] for task in TASKS}) == 0


def test_refusing_everything_passes_at_most_the_share_of_refusals() -> None:
    turns_of = {}
    for task in TASKS:
        looks = [call("get_order", order_id=order_id) for order_id in re.findall(r"O-\d+", task.goal)]
        numbers = re.findall(r"^(\d)\. ", task.goal, re.MULTILINE)
        denials = [call("deny", request=int(number), rule_id="R4", message="No.") for number in numbers]
        turns_of[task.task_id] = [*looks, *denials, call("finish", message="Goodbye.")]
    assert rate(turns_of) <= min(REFUSAL_SHARE, 0.2)


def test_refusing_without_looking_passes_nothing() -> None:
    denials = [call("deny", request=number, rule_id=rule, message="No.") for number in range(1, 7) for rule in ("R3", "R4", "R8")]
    assert rate({task.task_id: denials for task in TASKS}) == 0


def test_reading_every_price_aloud_answers_no_question() -> None:
    questions = [task for task in TASKS if set(task.difficulty["kinds"]) == {"price_query"}]
    nouns = ("kettle", "toaster", "blender", "teapot", "lamp", "lantern", "backpack", "suitcase", "scarf", "jacket", "planter", "speaker")

    async def shotgun(task: Task) -> bool:
        episode = await started(task)
        searched = AgentTurn(tool_calls=tuple(ToolCall.received(noun, "search_products", f'{{"query":"{noun}"}}') for noun in nouns))
        shown = " ".join(observation.content for observation in (await episode.act(searched)).observations)
        for price in sorted(set(re.findall(r'"price":([\d.]+)', shown))):
            await episode.act(call("reply", message=f"It may be ${price}."))
        return (await episode.env.check()).passed

    assert questions
    assert not any(asyncio.run(shotgun(task)) for task in questions)
