"""How often the customer does not understand what the expert asks: by tool, and in plain words."""

from synth.envs.storefront import WORLD
from synth.envs.storefront.audit.alternatives import spoken
from synth.envs.storefront.customer.customer import MISUNDERSTOOD
from synth.envs.storefront.tasks.self_play import at_once
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, Source
from tests.envs.storefront.playing import expert_episode, opened


def words(observations: tuple[Observation, ...]) -> list[str]:
    return [seen.content for seen in observations if seen.source is Source.USER]


async def questions(task: Task, seed: int) -> tuple[int, int, int]:
    """Questions of an episode; misunderstood ones; those that get another answer when they are
    asked in plain words.
    """
    episode, env = await expert_episode(task, None, seed), opened()
    await env.reset(task)
    asked = misunderstood = differing = 0
    for turn, response in zip(episode.turns, episode.responses, strict=True):
        answer = words(response.observations)
        fields = [c.parsed() for c in turn.tool_calls if c.name == "ask_customer"]
        plain = words((await env.step(spoken(turn))).observations)
        asked += len(fields)
        misunderstood += sum(MISUNDERSTOOD in text for text in answer)
        differing += len(turn.tool_calls) == 1 and len(fields) == 1 and plain != answer
    return asked, misunderstood, differing


def test_at_most_one_in_a_hundred_questions_is_misunderstood_by_tool_and_by_word() -> None:
    counts = [at_once(questions(task, at)) for at, task in enumerate(WORLD.make_tasks({}, 62, 120))]
    asked, misunderstood, differing = (sum(column) for column in zip(*counts, strict=True))
    assert asked > 500
    assert misunderstood <= 0.01 * asked
    assert differing <= 0.01 * asked
