"""A world of one's own beside the episodes, opened for a look and closed again; or put before a
recorded turn first.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from synth.boundary import guard_async
from synth.branching import branched
from synth.engine.context import Run
from synth.schemas.environment import Env, Opening
from synth.schemas.outcome import Fault
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory


@asynccontextmanager
async def opened(run: Run, task: Task, step_timeout_s: float) -> AsyncIterator[Env]:
    """The task's world. Raises `FaultError`, `ConfigError` where there is no such world."""

    async def of_task() -> Env:
        return run.world(task.env, task.env_config)

    env = await guard_async(Fault.ENVIRONMENT, "opening the world", of_task, step_timeout_s)
    try:
        yield env
    finally:
        await guard_async(Fault.ENVIRONMENT, "close", env.close, step_timeout_s)


@asynccontextmanager
async def placed(
    run: Run, task: Task, trajectory: Trajectory, turn: int, step_timeout_s: float
) -> AsyncIterator[tuple[Env, Opening]]:
    """The world in the state before `turn`, and the opening as recorded. Raises `FaultError`,
    `drift` where it answers otherwise.
    """
    async with opened(run, task, step_timeout_s) as env:
        yield env, await branched(env, task, trajectory, turn, step_timeout_s)
