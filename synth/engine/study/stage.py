"""A method as a stage of the runner: the work that all collection stages share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from pydantic import BaseModel

from synth.engine.context import Role, Run
from synth.engine.study.method import Bound, Method
from synth.engine.study.shard import ShardContext
from synth.engine.study.stage_context import StageContext
from synth.ledger import Decision, Score, StageRef
from synth.ledger.conclude import finalize_labels
from synth.schemas import ConfigError, Flow, Plan, Shard, content_hash


@dataclass(frozen=True, slots=True)
class MethodStage:
    """Plans the shards that are not done, has each played, and commits the results."""

    name: str
    method: Method

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that determine the rows."""
        return self.method.key_settings()

    def inputs(self, run: Run) -> str:
        """Hashes the rows that the stage reads."""
        found = self.method.inputs(StageContext(run, self.name, ""))
        return "" if found is None else content_hash(found)

    def plan(self, run: Run, stage_key: str) -> Plan:
        """Plans the shards that are not done."""
        method = self.method
        stage = StageContext(run, self.name, stage_key)
        shards = method.todo(stage)
        steps = sum(method.progress_of(unit) for shard in shards for unit in shard.items)
        at_once = method.at_once
        if at_once is None:
            # as many shards as fill all places, and a few more while others end
            size = max(1, getattr(method, "shard", 1))
            at_once = method.player.places.limit // size + 4

        return Plan(
            shards,
            self._adopted(stage),
            steps,
            method.unit,
            at_once,
            by_slot=method.by_slot,
        )

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Plays a shard and commits it; units that a rerun may finish are left to it."""
        run.ledger.refresh()
        cast = getattr(self.method, "player", None)
        context = ShardContext(run, self.name, stage_key, shard.name, cast)
        if context.has(shard.name):
            return

        await self.method.play(context, shard.items)
        if not self.method.by_slot:
            context.commit()

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Concludes the labels, then reports. Labels come first, since their worth depends on the
        control of the whole stage; a run that a ceiling stopped concludes none, unless a former run
        has.
        """

        state = run.ledger.state
        stage = StageContext(run, self.name, stage_key)
        line = state.stages[self.name]
        adopted = line.adopted if self.method.by_slot else self._adopted(stage)
        if adopted != line.adopted:
            run.ledger.begin_stage(msgspec.structs.replace(line, adopted=adopted))

        # labels that stand on a part of the control would change with the next run
        early = run.stopped is not None and state.concluded(stage_key) is None
        if not early or self.method.concludes_early:
            rows = self.method.finalize(stage)
            finalize_labels(
                run.ledger,
                StageRef(self.name, stage_key),
                scores=[row for row in rows if isinstance(row, Score)],
                decisions=[row for row in rows if isinstance(row, Decision)],
            )

        return self.method.report(stage)

    def _adopted(self, stage: StageContext) -> tuple[str, ...]:
        """The trajectories that the stage shows and other settings of it have made."""
        own = stage.trajectories()
        return tuple(one for one in self.method.shown(stage) if one not in own)


def bound_stage(
    found: type[Method],
    settings: BaseModel,
    name: str,
    flow: Flow,
    roles: Mapping[str, Role],
    entry: Any,
) -> MethodStage:
    """Binds a method to its place in a flow. Raises `ConfigError` for anything that the flow
    lacks.
    """

    if found.needs_env and flow.env is None:
        raise ConfigError(
            f"{found.method} needs a world: add `env: {{name: ..., tasks: ...}}` to the flow"
        )

    method = found(**dict(settings))
    method.bound = Bound(name, flow, roles, entry)
    player = method.cast()
    if player is not None:
        method.player = player

    method.bind()
    return MethodStage(name, method)
