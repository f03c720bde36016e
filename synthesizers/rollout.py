"""Rollout: every task of the flow, `trials` times, by the policy of one role."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from synth.engine.context import Role, Run, Synthesizer
from synth.engine.runs.stage_reports import episodes_report
from synth.engine.study.player import Player, agent_in, places_for
from synth.ledger.ledger import StageRef
from synth.rollout.limits import Limits
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.stage import Plan, PlannedSlot, Shard
from synth.synthesizers.episodes import played_in_groups

MOST_EPISODES = 10_000_000
"""Of one stage."""


class RolloutSettings(BaseModel):
    """How often, by whom, within which limits; `shard` episodes are committed together, `live` are
    under way at a time.

    Without `live` it is twice the `max_in_flight` of the role's model, or 64 without a model:
    enough to keep the server busy while
    worlds step, and few enough for a ceiling to bind.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    trials: int = Field(default=4, ge=1, le=10_000)
    role: str = "explorer"
    limits: Limits = Limits()
    shard: int = Field(default=200, ge=1, le=1000)
    live: int | None = Field(default=None, ge=1)


@dataclass(frozen=True, slots=True)
class Rollout:
    """The stage `rollout`."""

    name: str
    config: RolloutSettings
    player: Player
    env: str
    env_config: Mapping[str, Any]

    @property
    def settings(self) -> Mapping[str, Any]:
        """What determines the episodes; how they are cut into shards does not."""
        return {"trials": self.config.trials, **self.player.identity()}

    def inputs(self, run: Run) -> str:
        """The tasks."""
        return content_hash(sorted(self._task_ids(run)))

    def _task_ids(self, run: Run) -> list[str]:
        return [task_id for task_id, env in run.ledger.task_ids().items() if env == self.env]

    def plan(self, run: Run, stage_key: str) -> Plan:
        """Slots that no stage has filled with these settings; those of other settings that are the
        same slots are adopted.
        """
        state = run.ledger.state
        own = state.trajectories_of(stage_key)
        planned, adopted = [], []
        version = run.spec_of(self.env, self.env_config).version
        for task_id in self._task_ids(run):
            for trial in range(self.config.trials):
                slot_id = self.player.slot(task_id, version, trial)
                slot = state.slots.get(slot_id)
                if slot is not None and slot.valid is not None:
                    if slot.valid.trajectory_id not in own:
                        adopted.append(slot.valid.trajectory_id)
                elif slot is None or slot.last_fault in RETRIED_BY_A_RERUN:
                    planned.append(
                        PlannedSlot(slot_id, task_id, trial, 0 if slot is None else slot.attempts)
                    )
        size = self.config.shard
        cut = [planned[i : i + size] for i in range(0, len(planned), size)]
        shards = [Shard(content_hash([slot.slot_id for slot in part]), part) for part in cut]
        at_once = self.player.places.limit // size + 4
        return Plan(shards, tuple(adopted), len(planned), "episodes", at_once=at_once, by_slot=True)

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Fills the shard's slots, those that no other worker has in hand, and commits them."""
        slots = run.hands[shard.name].in_order()
        tasks = run.ledger.tasks({slot.task_id for slot in slots})
        works = [
            self.player.episode(
                run, tasks[slot.task_id], slot.trial, first_attempt=slot.first_attempt
            )
            for slot in slots
        ]
        ref = StageRef(self.name, stage_key)
        await played_in_groups(
            run, ref, shard.name, works, self.player.role.model, self.player.places
        )

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Attempts by outcome and by fault, and the commonest details of the faults."""
        return episodes_report(run.ledger, self.name)


def bind(name: str, config: RolloutSettings, flow: Flow, roles: Mapping[str, Role]) -> Rollout:
    """The stage for a flow. Raises `ConfigError` for what the flow lacks."""
    if flow.env is None:
        raise ConfigError("rollout needs a world: add `env: {name: ..., tasks: ...}` to the flow")
    episodes = flow.env.tasks * config.trials
    if episodes > MOST_EPISODES:
        raise ConfigError(
            f"{flow.env.tasks:,} tasks x {config.trials:,} trials are {episodes:,} episodes, and a "
            f"run plans at most {MOST_EPISODES:,} in memory; make several runs with other seeds"
        )
    role = agent_in("rollout", config.role, roles)
    places = places_for(config.live, role)
    player = Player(config.role, role, config.limits, places, flow.seed, "rollout")
    return Rollout(name, config, player, flow.env.name, flow.env.settings())


SYNTHESIZER = Synthesizer(RolloutSettings, bind)
