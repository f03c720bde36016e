"""Logged trials of another harness done again in its world, so that the world can go on from them:
each call is made once more, every answer and the verdict are compared.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from pydantic import Field

from synth.boundary import FaultError, guard_async
from synth.engine.study.method import Method, method_report, synthesizer
from synth.engine.study.shard import ShardContext, UnitResult
from synth.engine.study.stage_context import StageContext
from synth.envs.registry import LOGGED
from synth.ledger.ledger import Score
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.schemas import ConfigError, Fault, Trajectory, Usage

RELIVED = "relived"
"""Score of a logged trial: 1 where it was done again, 0 where it could not be."""
PATIENCE_S = 120.0
WHOLE = frozenset({"sft", "rl", "attribution", "dpo_observed", "kto_observed"})
"""Kinds of datasets that are made of all trials, and not of tested acts alone."""


class Unlived(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a logged trial could not be done again."""

    reason: str | None = None


@synthesizer("relive")
class Relive(Method):
    """Does imported trials again in the flow's world, where that is the world of their harness
    (`EnvEntry.relive`). What comes of it are trials of that world: with its tools, its states and
    its check. `shard` trials are committed together.
    """

    unit = "logged trials"
    metric = RELIVED
    needs_env = True

    shard: int = Field(default=50, ge=1, le=1000)

    def bind(self) -> None:
        """Looks up what the world makes of logs. Raises `ConfigError` where it makes nothing."""
        if self.bound.entry.relive is None:
            name = self.bound.entry.spec.name
            raise ConfigError(f"relive: world {name!r} does no logs of other harnesses again")
        for stage in self.bound.flow.stages:
            own = stage.settings if isinstance(stage.settings, Mapping) else {}
            twice = sorted(WHOLE.intersection(own.get("kinds", ["sft"])))
            if stage.name == "export" and twice:
                raise ConfigError(
                    f"relive: a trial done again stands beside its log, so {twice[0]} would hold "
                    "it twice; export that in a flow without this stage"
                )

    def inputs(self, stage: StageContext) -> Sequence[Any]:
        """The trials, and the world's version."""
        return [self.bound.entry.spec.version, self.units(stage)]

    def units(self, stage: StageContext) -> Sequence[str]:
        """Imported trials of tasks that name the world's harness."""
        world = self.bound.entry.spec.name
        sql = "SELECT trajectory_id, env FROM trajectories WHERE synthesizer = 'import' ORDER BY 1"
        return [one for one, env in stage.select(sql) if logged_in(env) == world]

    async def play(self, shard: ShardContext, units: Sequence[str]) -> None:
        """Does each trial once; what it was, and what came of it, stand side by side."""
        trials, tasks = shard.trials_with_tasks(units)
        relive = self.bound.entry.relive

        async def again(trial: Trajectory, result: UnitResult) -> None:
            task, why = tasks[trial.task_id], None
            try:
                call = partial(relive, task, trial)
                found = await guard_async(Fault.ENVIRONMENT, "relive", call, PATIENCE_S)
            except FaultError as error:
                shard.run.faulted(error)
                found = f"fault:{error.fault}"
                result.open |= error.fault in RETRIED_BY_A_RERUN
            if isinstance(found, str):
                why = found
            else:
                result.tasks.append(found[0])
                result.trajectories.append(_unpaid(found[1]))
            if result.open:
                return
            about = Unlived(why)
            result.scores.append(Score(trial.trajectory_id, RELIVED, float(not why), None, about))
            shard.run.progress.step(1)

        await shard.each({one: trials[one] for one in units if one in trials}, again)

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """Trials done again, and the reasons of the others."""
        rows = stage.rows(Unlived, RELIVED)
        why = Counter(row.about.reason for row in rows if row.about.reason is not None)
        return method_report(self.unit, len(rows), len(rows) - why.total(), why)


def _unpaid(trial: Trajectory) -> Trajectory:
    """The trial without what it has cost: that was paid where the log was made."""
    turns = tuple(
        msgspec.structs.replace(turn, usage=None, latency_ms=None) for turn in trial.turns
    )
    return msgspec.structs.replace(trial, turns=turns, totals=Usage(), user_totals=Usage())


def logged_in(env: str) -> str | None:
    """The world in which logs of a task's environment are done again, by its harness' name."""
    harness, _, domain = env.partition("/")
    return LOGGED.get(harness) if domain else None
