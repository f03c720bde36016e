"""The expert playing an episode to its end within one call: the storefront's methods never wait."""

from collections.abc import Coroutine
from typing import Any, TypeVar

from synth.envs.storefront.env import StorefrontEnv
from synth.envs.storefront.world.config import StorefrontConfig
from synth.schemas import Task

MOST_TURNS = 200
T = TypeVar("T")


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits."""
    try:
        # a coroutine that never waits runs to its end at the first step
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value

        return result

    raise RuntimeError("the storefront waited for something")


def played(task: Task, profile: str | None = None, seed: int = 0) -> tuple[int, bool]:
    """How many turns an expert of this profile takes, and whether it solves the task."""
    env = StorefrontEnv(StorefrontConfig())
    at_once(env.reset(task))
    turns = 0
    done = False

    while not done and turns < MOST_TURNS:
        done = at_once(env.step(at_once(env.expert(profile, seed)))).done
        turns += 1

    return turns, at_once(env.check()).passed is True
