"""Whether a recorded trial can be built on: its world is there, answers as recorded, and its own
check says the same again.
"""

from collections.abc import Collection, Mapping

from synth.boundary import FaultError, guard_async
from synth.branching import Replayed, replay
from synth.engine.context import Run
from synth.engine.study.placing import opened
from synth.schemas.errors import ConfigError
from synth.schemas.outcome import Fault
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory


async def why_not_replayable(
    run: Run, task: Task | None, twin: Trajectory, step_timeout_s: float, *, passes: bool = True
) -> str | None:
    """Why it cannot, as a short reason; None where it can. `passes`: what the check is to say of
    it.
    """
    if task is None:
        return "no_task"
    try:
        run.spec_of(task.env, task.env_config)
    except ConfigError:
        return "no_world"
    if task.check is None:
        return "no_check"
    try:
        found = await _replayed(run, task, twin, step_timeout_s)
    except ConfigError:
        return "no_world"
    except FaultError as error:
        run.faulted(error)
        return f"fault:{error.fault}"
    if not found.matched:
        return "drift"
    return None if found.check is not None and found.check.passed is passes else "another_verdict"


async def _replayed(run: Run, task: Task, twin: Trajectory, step_timeout_s: float) -> Replayed:
    async with opened(run, task, step_timeout_s) as env:
        patience = step_timeout_s * (len(twin.turns) + 2)
        return await guard_async(
            Fault.ENVIRONMENT, "replay", lambda: replay(env, task, twin), patience
        )


def world_versions(run: Run, task_ids: Collection[str]) -> Mapping[str, str | None]:
    """The versions of the tasks' worlds by name; None for one that is not here."""
    found: dict[str, str | None] = {}
    for task in run.ledger.tasks(task_ids).values():
        if task.env not in found:
            try:
                found[task.env] = run.spec_of(task.env, task.env_config).version
            except ConfigError:
                found[task.env] = None
    return found
