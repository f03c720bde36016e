"""The filter `reexecuted`: keeps what can be done again. The trajectory, executed a second time,
gives the same observations and the same verdict.

It is the only filter that opens environments; each trajectory has one of its own.
"""

from pydantic import Field

from synth.boundary import FaultError, guard_async
from synth.branching import Replayed, replay
from synth.schemas import (
    Case,
    ConfigError,
    Fault,
    Filter,
    FilterSettings,
    Task,
    UnboundError,
    Verdict,
)


class ReexecutedConfig(FilterSettings):
    """Seconds that one re-execution may take."""

    timeout_s: float = Field(default=300, gt=0)


async def reexecuted(case: Case, config: ReexecutedConfig) -> Verdict:
    """Drop where the environment answers otherwise or its check decides otherwise; undefined where
    there is no environment to ask.

    A re-execution that breaks is no verdict on the trajectory: undefined, with the fault in the
    detail. An environment that is not bound here (`unbound`) is not opened, whatever the task says
    of it.
    """
    task = case.task

    # what was imported may come without an environment, or without a check that could be asked
    imported = case.trajectory.synthesizer == "import"
    if task is None or (imported and task.check is None):
        return Verdict(None, "no_world" if task is None else "no_check")

    try:
        found = (await _replayed(case, task, config.timeout_s)).first_difference
    except FaultError as error:
        return Verdict(None, "fault", detail={"fault": error.fault, "message": error.detail})
    except UnboundError as error:
        return Verdict(None, "unbound", detail={"message": str(error)})
    except ConfigError:
        if imported:  # it was played where its environment is
            return Verdict(None, "no_world")
        raise

    if found is None:
        return Verdict(True, "same")

    of_check = found.what in ("verdict", "final facts")
    reason = "verdict_differs" if of_check else "observation_differs"
    return Verdict(False, reason, detail={"turn": found.turn, "what": found.what})


async def _replayed(case: Case, task: Task, timeout_s: float) -> Replayed:
    """The trajectory done again in an environment of its own, which is closed whatever happens."""
    env = case.open_env(task.env, task.env_config)
    try:
        return await guard_async(
            Fault.ENVIRONMENT, "re-execution", lambda: replay(env, task, case.trajectory), timeout_s
        )
    finally:
        await guard_async(Fault.ENVIRONMENT, "close", env.close, timeout_s)


FILTER = Filter(ReexecutedConfig, reexecuted, opens=True)
