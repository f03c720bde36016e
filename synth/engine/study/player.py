"""Who plays the episodes of a stage, within which limits; what names their slots."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, ValidationError

from synth.engine.context import Role, Run
from synth.models.admission import AdmittedChat, ConcurrencyLimit
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.start import BranchPoint
from synth.schemas.canonical import canonical_json
from synth.schemas.environment import AgentTurn
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.identity import slot_id
from synth.schemas.policy import Act, PolicySpec
from synth.schemas.task import Task
from synth.schemas.trajectory import Authorship, Trajectory
from synth.schemas.user import USER


class DecisionState(msgspec.Struct, frozen=True):
    """The state before turn `turn` of a recorded trajectory."""

    parent: Trajectory
    task: Task
    turn: int

    @property
    def own(self) -> AgentTurn:
        """What the policy did there."""
        turn = self.parent.turns[self.turn]
        return AgentTurn(turn.content, turn.tool_calls, turn.thought)


class Proposal(msgspec.Struct, frozen=True):
    """An act that could have been done instead, who proposes it, and who wrote it."""

    turn: AgentTurn
    source: str = "rule"
    authorship: Authorship = Authorship.SCRIPTED

    @property
    def act(self) -> Act:
        """As it is put in the policy's place."""
        return Act(turn=self.turn)


@dataclass(frozen=True, slots=True)
class Player:
    """A role of the flow as a stage plays it; `places` episodes at a time, of all shards together."""

    name: str | None
    role: Role
    limits: Limits
    places: ConcurrencyLimit
    seed: int
    synthesizer: str

    def identity(self) -> Mapping[str, Any]:
        """What of it determines an episode."""
        return {"limits": self.limits.model_dump(), "seed": self.seed, **role_identity(self.role)}

    def slot(
        self,
        task_id: str,
        version: str,
        trial: int,
        also: Mapping[str, Any] | None = None,
        start: BranchPoint | None = None,
    ) -> str:
        """Hash of all that determines an episode; `version` is the environment's, `also` what else
        does.
        """
        policy = self.role.policy
        return slot_id(
            task_id=task_id,
            synthesizer=self.synthesizer,
            trial=trial,
            seed=self.seed,
            policy=policy.identity,
            model=policy.model,
            sampling=policy.sampling,
            parent_id=None if start is None else start.trajectory.trajectory_id,
            pivot_turn=None if start is None else start.turn,
            settings={
                "limits": self.limits.model_dump(),
                "world": version,
                **(also or {}),
                **user_identity(self.role),
            },
        )

    def episode(
        self,
        run: Run,
        task: Task,
        trial: int,
        also: Mapping[str, Any] | None = None,
        start: BranchPoint | None = None,
        **more: Any,
    ) -> EpisodeSpec:
        """The work of one slot in the flow's environments."""
        version = run.spec_of(task.env, task.env_config).version
        return self.at(task, version, trial, also, start, **more)

    def at(
        self,
        task: Task,
        version: str,
        trial: int,
        also: Mapping[str, Any] | None = None,
        start: BranchPoint | None = None,
        **more: Any,
    ) -> EpisodeSpec:
        """The work of one slot in an environment of a version; `more` are further fields of
        `EpisodeSpec`.
        """
        return EpisodeSpec(
            slot_id=self.slot(task.task_id, version, trial, also, start),
            task=task,
            trial=trial,
            seed=self.seed,
            synthesizer=self.synthesizer,
            policy=self.role.policy,
            limits=self.limits,
            role=self.name,
            user=self.role.user,
            start=start,
            **more,
        )

    def certain(self, run: Run, task: Task) -> bool:
        """Whether the same state and act always come to the same."""
        spec = run.spec_of(task.env, task.env_config)
        return self.role.policy.deterministic and spec.deterministic and self.role.user is None


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


def on_policy_for(policy: PolicySpec) -> str:
    """Whom a label holds for: the model, or what identifies a policy that has none."""
    return policy.model or canonical_json(policy.identity).decode()


def agent_in(method: str, name: str, roles: Mapping[str, Role]) -> Role:
    """A role that acts for a method. Raises `ConfigError` where the flow has none of the name, or
    it is the user.
    """
    if name == USER:
        raise ConfigError(
            f"role: {USER!r} plays the user of the world, not its agent; name a role of its own, "
            "such as explorer"
        )
    if name not in roles:
        raise ConfigError(
            f"{method} needs the role {name!r}: add `models: {{{name}: ...}}` to the flow"
        )
    return roles[name]


def places_for(live: int | None, role: Role) -> ConcurrencyLimit:
    """How many episodes of the role may be under way: `live`, or enough to keep its server busy
    while worlds step, and few enough for a ceiling to bind.
    """
    of_model = 2 * role.model.admission.limit if isinstance(role.model, AdmittedChat) else 64
    return ConcurrencyLimit(live or of_model)


class _Played(BaseModel):
    """What of a rollout's settings the stages after it keep to."""

    model_config = ConfigDict(extra="ignore")

    role: str = "explorer"
    limits: Limits = Limits()


def trial_limits(flow: Flow, role: str) -> Limits:
    """The limits under which the flow's first rollout plays a role; the default ones where it has
    none.
    """
    for choice in flow.stages:
        if choice.name == "rollout":
            try:
                settings = _Played.model_validate(choice.settings or {})
            except ValidationError:  # told by that stage itself, with its place
                continue
            if settings.role == role:
                return settings.limits
    return Limits()
