"""Opens environments outside episodes, and replays recorded trials to find out whether a stage can
build on them.
"""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager

from synth.boundary import FaultError, guard_async
from synth.branching import branched, replay
from synth.engine.context import Run
from synth.schemas import ConfigError, Env, Fault, Outcome, Task, Trajectory


@asynccontextmanager
async def opened(run: Run, task: Task, step_timeout_s: float) -> AsyncIterator[Env]:
    """Opens the task's environment. Raises `FaultError`, and `ConfigError` where there is none of
    the name.
    """

    async def of_task() -> Env:
        return run.world(task.env, task.env_config)

    env = await guard_async(Fault.ENVIRONMENT, "opening the world", of_task, step_timeout_s)
    try:
        yield env
    finally:
        await guard_async(Fault.ENVIRONMENT, "close", env.close, step_timeout_s)


@asynccontextmanager
async def placed(
    run: Run,
    task: Task,
    trajectory: Trajectory,
    turn: int,
    step_timeout_s: float,
) -> AsyncIterator[Env]:
    """Opens the environment in the state before `turn`. Raises `FaultError`, `drift` where it
    answers otherwise than recorded.
    """
    async with opened(run, task, step_timeout_s) as env:
        await branched(env, task, trajectory, turn, step_timeout_s)
        yield env


async def why_not_replayable(
    run: Run, task: Task | None, trial: Trajectory, step_timeout_s: float
) -> str | None:
    """Replays a trial; the reason why a stage cannot build on it, None where its environment
    answers as recorded and the check gives the same verdict.
    """

    if task is None:
        return "no_task"

    try:
        run.spec_of(task.env, task.env_config)
        if task.check is None:
            return "no_check"

        patience = step_timeout_s * (len(trial.turns) + 2)
        async with opened(run, task, step_timeout_s) as env:
            found = await guard_async(
                Fault.ENVIRONMENT,
                "replay",
                lambda: replay(env, task, trial),
                patience,
            )
    except ConfigError:
        return "no_world"
    except FaultError as error:
        run.faulted(error)
        return f"fault:{error.fault}"

    if not found.matched:
        return "drift"

    passes = trial.outcome is Outcome.SUCCESS
    return None if found.check is not None and found.check.passed is passes else "another_verdict"


def world_versions(run: Run, task_ids: Collection[str]) -> Mapping[str, str | None]:
    """The versions of the tasks' environments by name; None for one that is not here."""
    found: dict[str, str | None] = {}
    for task in run.ledger.tasks(task_ids).values():
        if task.env not in found:
            try:
                found[task.env] = run.spec_of(task.env, task.env_config).version
            except ConfigError:
                found[task.env] = None

    return found
