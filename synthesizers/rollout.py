"""Rollout: every task of the flow, `trials` times, by the policy of one role."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from synth.engine.context import Role, Run, Synthesizer
from synth.engine.episodes_report import episodes_report
from synth.ledger.ledger import StageRef
from synth.models.admission import AdmittedChat, ConcurrencyLimit
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.identity import slot_id
from synth.schemas.stage import Plan, PlannedSlot, Shard
from synth.schemas.task import Task
from synth.schemas.user import USER
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
    role: Role
    env: str
    env_config: Mapping[str, Any]
    seed: int
    places: ConcurrencyLimit
    """For the episodes under way, of all shards together."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What determines the episodes; how they are cut into shards does not."""
        return {
            "trials": self.config.trials,
            "limits": self.config.limits.model_dump(),
            "seed": self.seed,
            **role_identity(self.role),
        }

    def inputs(self, run: Run) -> str:
        """The tasks."""
        return content_hash(sorted(self._task_ids(run)))

    def _task_ids(self, run: Run) -> list[str]:
        return [task_id for task_id, env in run.ledger.task_ids().items() if env == self.env]

    def plan(self, run: Run, stage_key: str) -> Plan:
        """Slots that are not settled, trials of a task side by side; slots settled under other
        settings are adopted.
        """
        state = run.ledger.state
        own = {
            record.trajectory_id
            for shard in state.shards
            if shard.stage_key == stage_key
            for record in shard.slots
        }
        planned, adopted = [], []
        version = run.spec_of(self.env, self.env_config).version
        for task_id in self._task_ids(run):
            for trial in range(self.config.trials):
                slot_id = self._slot(task_id, trial, version)
                slot = state.slots.get(slot_id)
                if slot is not None and slot.valid is not None:
                    if slot.valid.trajectory_id not in own:
                        adopted.append(slot.valid.trajectory_id)
                elif slot is None or slot.last_fault in RETRIED_BY_A_RERUN:
                    planned.append(
                        PlannedSlot(slot_id, task_id, trial, 0 if slot is None else slot.attempts)
                    )
        cut = [
            planned[i : i + self.config.shard] for i in range(0, len(planned), self.config.shard)
        ]
        shards = [Shard(content_hash([slot.slot_id for slot in part]), part) for part in cut]
        at_once = self.places.limit // self.config.shard + 4
        return Plan(shards, tuple(adopted), len(planned), "episodes", at_once=at_once, by_slot=True)

    def _slot(self, task_id: str, trial: int, version: str) -> str:
        policy = self.role.policy
        return slot_id(
            task_id=task_id,
            synthesizer="rollout",
            trial=trial,
            seed=self.seed,
            policy=policy.identity,
            model=policy.model,
            sampling=policy.sampling,
            settings={
                "limits": self.config.limits.model_dump(),
                "world": version,
                **user_identity(self.role),
            },
        )

    def _work(self, slot: PlannedSlot, task: Task) -> EpisodeSpec:
        return EpisodeSpec(
            slot_id=slot.slot_id,
            task=task,
            trial=slot.trial,
            seed=self.seed,
            synthesizer="rollout",
            policy=self.role.policy,
            limits=self.config.limits,
            role=self.config.role,
            user=self.role.user,
            first_attempt=slot.first_attempt,
        )

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Fills the shard's slots, those that no other worker has in hand, and commits them."""
        slots = run.hands[shard.name].in_order()
        tasks = run.ledger.tasks({slot.task_id for slot in slots})
        works = [self._work(slot, tasks[slot.task_id]) for slot in slots]
        await played_in_groups(
            run, StageRef(self.name, stage_key), shard.name, works, self.role.model, self.places
        )

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Attempts by outcome and by fault, and the commonest details of the faults."""
        return episodes_report(run.ledger, self.name)


def bind(name: str, config: RolloutSettings, flow: Flow, roles: Mapping[str, Role]) -> Rollout:
    """The stage for a flow. Raises `ConfigError` for what the flow lacks."""
    if flow.env is None:
        raise ConfigError("rollout needs a world: add `env: {name: ..., tasks: ...}` to the flow")
    if flow.env.tasks * config.trials > MOST_EPISODES:
        episodes = (
            f"{flow.env.tasks:,} tasks x {config.trials:,} trials are "
            f"{flow.env.tasks * config.trials:,} episodes"
        )
        raise ConfigError(
            f"{episodes}, and a run plans at most {MOST_EPISODES:,} in memory; make several runs "
            "with other seeds"
        )
    if config.role == USER:
        raise ConfigError(
            f"role: {USER!r} plays the user of the world, not its agent; give the agent a role of "
            "its own, such as explorer"
        )
    if config.role not in roles:
        raise ConfigError(
            f"rollout needs the role {config.role!r}: add `models: {{{config.role}: ...}}` to the "
            "flow"
        )
    role = roles[config.role]
    return Rollout(
        name, config, role, flow.env.name, flow.env.settings(), flow.seed, places_for(config, role)
    )


def role_identity(role: Role) -> Mapping[str, Any]:
    """What of a role determines the episodes that it plays."""
    policy = role.policy
    return {
        "policy": policy.identity,
        "model": policy.model,
        "sampling": policy.sampling,
        **user_identity(role),
    }


def user_identity(role: Role) -> Mapping[str, Any]:
    """What a model in the place of the user adds to what determines an episode; nothing where the
    world plays its user itself.
    """
    return {} if role.user is None else {"user": role.user.identity()}


def places_for(config: RolloutSettings, role: Role) -> ConcurrencyLimit:
    """How many episodes of the role may be under way."""
    return ConcurrencyLimit(
        config.live
        or (2 * role.model.admission.limit if isinstance(role.model, AdmittedChat) else 64)
    )


def trial_limits(flow: Flow, role: str) -> Limits:
    """The limits under which the flow's first rollout plays a role; the default ones where it has
    none.
    """
    for choice in flow.stages:
        if choice.name == "rollout":
            try:
                settings = RolloutSettings.model_validate(choice.settings or {})
            except ValidationError:  # told by that stage itself, with its place
                continue
            if settings.role == role:
                return settings.limits
    return Limits()


SYNTHESIZER = Synthesizer(RolloutSettings, bind)
