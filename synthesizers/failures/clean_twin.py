"""Whether a recorded success can be built on: its world is there, answers as recorded, and its own check passes again."""

from schemas.environment import AgentTurn
from schemas.errors import ConfigError
from schemas.outcome import Fault
from schemas.policy import Act, Episode, Policy, PolicySpec, View
from schemas.task import Task
from schemas.trajectory import Authorship, Trajectory
from synth.boundary import FaultError, crossing
from synth.branching import Replayed, replay
from synth.run.context import Role, Run
from synthesizers.failures.placing import opened


async def unfit(run: Run, task: Task | None, twin: Trajectory, step_timeout_s: float, *, passes: bool = True) -> str | None:
    """Why it cannot, as a short reason; None where it can. `passes`: what the check is to say of it."""
    if task is None:
        return "no_task"
    if task.check is None:
        return "no_check"
    try:
        run.spec_of(task.env, task.env_config)
    except ConfigError:
        return "no_world"
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
        return await crossing(Fault.ENVIRONMENT, "replay", lambda: replay(env, task, twin), patience)


class _Silent:
    async def act(self, view: View) -> Act:
        """Nothing: the recorded turns are over."""
        return Act(turn=AgentTurn(""))


def _open_silent(episode: Episode) -> Policy:
    return _Silent()


SILENT = Role(
    PolicySpec(name="silent", authorship=Authorship.SCRIPTED, identity={"policy": "silent"}, open=_open_silent, deterministic=True),
    None,
)
"""Who goes on where only recorded turns are done again: an episode that they do not end is ended by the stuck rule."""
