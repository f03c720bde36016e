"""The expert: solves everything, from any state, and knows only what it was told."""

import re
from random import Random
from typing import Any

import msgspec
import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.tools.schemas import TALKS, TOOLS, WRITES
from synth.schemas.task import Task
from synth.schemas.trajectory import Source
from tests.envs.storefront.playing import MOST_TURNS, Episode, expert_episode, passes, started

FREE_TEXT = {"message", "summary", "text"}
ENUMS = {
    value
    for tool in TOOLS
    for schema in tool["function"]["parameters"]["properties"].values()
    for value in schema.get("enum", ())
}
ARGUMENTS = {name for tool in TOOLS for name in tool["function"]["parameters"]["properties"]}
"""Names of arguments, which stand inside those of a question for agreement."""


def scalars(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [scalar for entry in value.values() for scalar in scalars(entry)] + list(value)
    if isinstance(value, list):
        return [scalar for entry in value for scalar in scalars(entry)]
    return [value]


def unobserved_arguments(episode: Episode) -> list[str]:
    """Arguments of effectful calls that occur in no schema, no policy, no word of the customer and
    no earlier tool answer.
    """
    prompt = episode.opening.system_prompt or ""
    words = [observation.content for observation in episode.opening.observations]
    seen: set[str] = set()
    found = []
    for turn, response in zip(episode.turns, episode.responses, strict=True):
        for call in turn.tool_calls:
            if call.name not in WRITES | TALKS | {"verify_identity", "find_customer"}:
                continue
            for value in scalars({k: v for k, v in call.parsed().items() if k not in FREE_TEXT}):
                known_key = isinstance(value, str) and value in ARGUMENTS | ENUMS
                token = rf"(?<![\w]){re.escape(str(value))}(?![\w])"
                if (
                    not known_key
                    and str(value) not in seen
                    and not any(re.search(token, text) for text in [prompt, *words])
                ):
                    found.append(f"{call.name} {value!r}")
        for observation in response.observations:
            if observation.source is Source.USER:
                words.append(observation.content)
            elif not observation.error:
                seen.update(
                    str(scalar) for scalar in scalars(msgspec.json.decode(observation.content))
                )
    return found


@pytest.mark.slow
def test_the_expert_solves_every_task_with_every_seed() -> None:
    unsolved = [
        (task.task_id, seed)
        for task in WORLD.make_tasks({}, 11, 250)
        for seed in (0, 1, 2)
        if not passes(task, None, seed)
    ]
    assert unsolved == []


@pytest.mark.slow
def test_every_argument_of_a_write_was_observed_before() -> None:
    async def all_unobserved() -> list[str]:
        tasks = WORLD.make_tasks({}, 12, 300)
        return [
            found
            for at, task in enumerate(tasks)
            for found in unobserved_arguments(await expert_episode(task, None, at))
        ]

    assert at_once(all_unobserved()) == []


def test_a_call_with_an_id_out_of_thin_air_is_caught_by_the_provenance_test() -> None:
    async def planted() -> list[str]:
        task = WORLD.make_tasks({}, 12, 1)[0]
        episode = await expert_episode(task)
        invented = msgspec.structs.replace(
            episode.turns[-1].tool_calls[0],
            name="cancel_order",
            arguments='{"order_id":"O-1","reason":"other"}',
        )
        episode.turns[0] = msgspec.structs.replace(episode.turns[0], tool_calls=(invented,))
        return unobserved_arguments(episode)

    assert at_once(planted()) == ["cancel_order 'O-1'"]


@pytest.mark.slow
def test_the_expert_goes_on_from_states_that_other_policies_reached() -> None:
    """A breach of process or a false word of another policy cannot be undone: all else can. But for
    one in sixty: who asks for a write under the number of another request is told no, and the
    planner takes that for the customer's answer to its own question.
    """
    harmful = WRITES | {"finish", "deny"}

    async def play(task: Task, seed: int) -> bool:
        episode, draw = await started(task), Random(seed)
        for at in range(MOST_TURNS):
            turn = await episode.env.expert(None, at % 3)
            if at % 4 == 3:
                offered = [
                    t
                    for t in await episode.env.affordances()
                    if t.tool_calls[0].name not in harmful
                ]
                turn = draw.choice(offered)
            if (await episode.act(turn)).done:
                break
        verdict = await episode.env.check()
        return all(part.passed for part in verdict.parts if part.name not in ("process", "truth"))

    played = [at_once(play(task, seed)) for seed, task in enumerate(WORLD.make_tasks({}, 13, 60))]
    assert played.count(False) <= 1


def test_seeds_stand_for_different_ways_to_the_same_end() -> None:
    task = next(task for task in WORLD.make_tasks({}, 14, 50) if task.difficulty["operations"] >= 4)

    async def names(seed: int) -> tuple[str, ...]:
        episode = await expert_episode(task, None, seed)
        return tuple(call.name for turn in episode.turns for call in turn.tool_calls)

    assert len({at_once(names(seed)) for seed in range(12)}) >= 5


def test_the_expert_never_thinks_aloud() -> None:
    async def thoughts() -> set[str | None]:
        return {
            turn.thought for turn in (await expert_episode(WORLD.make_tasks({}, 15, 1)[0])).turns
        }

    assert at_once(thoughts()) == {None}
