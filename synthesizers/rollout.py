"""Rollout: the policy of one role plays every task of the flow, `trials` times."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import Field

from synth.engine.runs.stage_reports import episodes_report
from synth.engine.study.method import Method, synthesizer
from synth.engine.study.shard import ShardContext
from synth.engine.study.stage_context import StageContext
from synth.ledger.tables.asked_roles import ASKED_TWICE
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.schemas import ConfigError, PlannedSlot
from synth.synthesizers.asked_twice import ask_twice

MOST_EPISODES = 10_000_000
"""The most episodes of one stage."""


@synthesizer("rollout")
class Rollout(Method):
    """Plays every task `trials` times as `role`, within `limits`.

    `shard` episodes are committed together.
    `live`: episodes under way at a time; left out, twice the `max_in_flight` of the role's model,
    or 64 without a model: enough to keep the server busy while environments step, and few enough
    for a ceiling to bind.
    `ask_twice`: one prompt of a model's is asked twice, to see whether its server answers it in one
    way; two short calls.
    """

    unit = "episodes"
    needs_env = True
    by_slot = True
    at_once = None

    trials: int = Field(default=4, ge=1, le=10_000)
    role: str = "explorer"
    limits: Limits = Limits()
    shard: int = Field(default=200, ge=1, le=1000)
    live: int | None = Field(default=None, ge=1)
    ask_twice: bool = False

    def bind(self) -> None:
        """Raises `ConfigError` for more episodes than a plan can hold in memory."""
        tasks = self.bound.env.tasks
        episodes = tasks * self.trials

        if episodes > MOST_EPISODES:
            raise ConfigError(
                f"{tasks:,} tasks x {self.trials:,} trials are {episodes:,} episodes, and a run "
                f"plans at most {MOST_EPISODES:,} in memory; make several runs with other seeds"
            )

        self._filled: list[str] = []
        self._unasked = self.ask_twice

    def key_settings(self) -> Mapping[str, Any]:
        """The settings that determine the episodes."""
        return {"trials": self.trials, **self.player.identity()}

    def inputs(self, stage: StageContext) -> list[str]:
        """The tasks."""
        return sorted(self._task_ids(stage))

    def _task_ids(self, stage: StageContext) -> list[str]:
        """The tasks of the flow's environment."""
        tasks = stage.task_ids()
        return [task_id for task_id, env in tasks.items() if env == self.bound.env.name]

    def units(self, stage: StageContext) -> Sequence[PlannedSlot]:
        """The slots that no stage has filled with these settings; filled ones are remembered on the
        way, since naming a slot takes its time.
        """

        env = self.bound.env
        planned = list[PlannedSlot]()
        version = stage.run.spec_of(env.name, env.settings()).version
        self._filled = []

        for task_id in self._task_ids(stage):
            for trial in range(self.trials):
                slot_id = self.player.slot(task_id, version, trial)
                slot = stage.slot(slot_id)

                if slot is not None and slot.valid is not None:
                    self._filled.append(slot.valid.trajectory_id)
                # a slot whose last fault will not pass is not tried again
                elif slot is None or slot.last_fault in RETRIED_BY_A_RERUN:
                    attempts = 0 if slot is None else slot.attempts
                    planned.append(PlannedSlot(slot_id, task_id, trial, attempts))

        return planned

    def key_of(self, unit: PlannedSlot) -> str:
        """The slot."""
        return unit.slot_id

    def shown(self, stage: StageContext) -> Iterable[str]:
        """The filled slots that `units` has just found."""
        return self._filled

    async def play(
        self,
        shard: ShardContext,
        units: Sequence[PlannedSlot],
    ) -> None:
        """Fills the slots that no other worker has claimed."""
        slots = shard.claimed_slots()
        tasks = shard.tasks({slot.task_id for slot in slots})
        specs = [
            self.player.episode(
                shard.run,
                tasks[slot.task_id],
                slot.trial,
                first_attempt=slot.first_attempt,
            )
            for slot in slots
        ]

        await shard.play_in_groups(specs)
        await self._ask_twice(shard, specs)

    async def _ask_twice(self, shard: ShardContext, specs: Sequence[EpisodeSpec]) -> None:
        """One prompt of the stage, by whichever shard ends first."""
        ended = (shard.slot(spec.slot_id) for spec in specs)
        valid = [slot.valid.trajectory_id for slot in ended if slot is not None and slot.valid]
        if not valid or shard.player.role.model is None or shard.has(ASKED_TWICE):
            return
        # shards end side by side
        wanted, self._unasked = self._unasked, False
        for trial in shard.trials(valid[:1]).values() if wanted else ():
            if await ask_twice(shard, trial):
                shard.commit(ASKED_TWICE)

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """Attempts by outcome and by fault, and the commonest details of the faults."""
        return episodes_report(stage.run.ledger, stage.name)
