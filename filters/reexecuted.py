"""Keeps what can be done again: the trajectory executed a second time gives the same observations
and the same verdict.
"""

from pydantic import Field

from synth.boundary import FaultError, guard_async
from synth.branching import Replayed, replay
from synth.schemas.errors import ConfigError, UnboundError
from synth.schemas.filter import Case, Filter, FilterSettings
from synth.schemas.outcome import Fault
from synth.schemas.task import Task
from synth.schemas.verdict import Verdict


class ReexecutedConfig(FilterSettings):
    """Seconds that one re-execution may take."""

    timeout_s: float = Field(default=300, gt=0)


async def reexecuted(case: Case, config: ReexecutedConfig) -> Verdict:
    """Drop where the world answers otherwise or its check decides otherwise; undefined where there
    is no world to ask.

    A re-execution that breaks is no verdict on the trajectory: undefined, with the fault in the
    detail. An environment that is not bound
    here (`unbound`) is not opened, whatever the task says of it.
    """
    trajectory, task = case.trajectory, case.task
    imported = trajectory.synthesizer == "import"
    if task is None or (imported and task.check is None):
        return Verdict(None, "no_world" if task is None else "no_check")
    try:
        return _verdict(await _replayed(case, task, config))
    except FaultError as error:
        return Verdict(None, "fault", detail={"fault": error.fault, "message": error.detail})
    except UnboundError as error:
        return Verdict(None, "unbound", detail={"message": str(error)})
    except ConfigError:
        if imported:  # it was played where its world is
            return Verdict(None, "no_world")
        raise


async def _replayed(case: Case, task: Task, config: ReexecutedConfig) -> Replayed:
    env = case.open_env(task.env, task.env_config)
    try:
        return await guard_async(
            Fault.ENVIRONMENT,
            "re-execution",
            lambda: replay(env, task, case.trajectory),
            config.timeout_s,
        )
    finally:
        await guard_async(Fault.ENVIRONMENT, "close", env.close, config.timeout_s)


def _verdict(replayed: Replayed) -> Verdict:
    if replayed.matched:
        return Verdict(True, "same")
    difference = replayed.first_difference
    assert difference is not None
    reason = (
        "verdict_differs"
        if difference.what in ("verdict", "final facts")
        else "observation_differs"
    )
    return Verdict(False, reason, detail={"turn": difference.turn, "what": difference.what})


FILTER = Filter(ReexecutedConfig, reexecuted, opens=True)
