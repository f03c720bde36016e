"""The role that plays the episodes of a stage, within its limits, and the names of its slots."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from synth.engine.context import Role, Run
from synth.models.admission import AdmittedChat, ConcurrencyLimit
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.start import BranchPoint
from synth.schemas import USER, ConfigError, Flow, Task, canonical_json, slot_id


@dataclass(frozen=True, slots=True)
class Player:
    """A role of the flow as a stage plays it; all shards together have `places` episodes under
    way.
    """

    name: str | None
    role: Role
    limits: Limits
    places: ConcurrencyLimit
    seed: int
    synthesizer: str

    def identity(self) -> Mapping[str, Any]:
        """The settings that determine an episode."""
        policy = self.role.policy
        return {
            "limits": self.limits.model_dump(),
            "seed": self.seed,
            "policy": policy.identity,
            "model": policy.model,
            "sampling": policy.sampling,
            **_user_identity(self.role),
        }

    @property
    def on_policy_for(self) -> str:
        """The model that labels hold for, or the identity of a policy that has none."""
        policy = self.role.policy
        return policy.model or canonical_json(policy.identity).decode()

    def slot(
        self,
        task_id: str,
        version: str,
        trial: int,
        also: Mapping[str, Any] | None = None,
        start: BranchPoint | None = None,
    ) -> str:
        """Hashes all that determines an episode; `version` is the environment's, `also` adds
        further parts.
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
                **_user_identity(self.role),
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
        """The specification of one episode; `more` are further fields of `EpisodeSpec`."""
        version = run.spec_of(task.env, task.env_config).version
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
        """Whether the same state and act always give the same result."""
        spec = run.spec_of(task.env, task.env_config)
        return self.role.policy.deterministic and spec.deterministic and self.role.user is None


def _user_identity(role: Role) -> Mapping[str, Any]:
    """The identity of a model that plays the user; nothing where the environment plays its user
    itself.
    """
    return {} if role.user is None else {"user": role.user.identity()}


def agent_in(method: str, name: str, roles: Mapping[str, Role]) -> Role:
    """Looks up a role that acts for a method. Raises `ConfigError` where the flow lacks it, or it
    is the user.
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
    """The most episodes of the role under way: `live`, or enough to keep its server busy while
    environments step, and few enough for a ceiling to bind.
    """

    of_model = 2 * role.model.admission.limit if isinstance(role.model, AdmittedChat) else 64
    return ConcurrencyLimit(live or of_model)


class TrialSettings(BaseModel):
    """The settings of a rollout that other stages follow."""

    model_config = ConfigDict(extra="ignore")

    role: str = "explorer"
    trials: int = 4
    limits: Limits = Limits()
    live: int | None = None


def trial_settings(flow: Flow, role: str) -> TrialSettings:
    """The settings of the flow's first rollout of a role; the defaults where it has none."""
    for choice in flow.stages:
        if choice.name == "rollout":
            try:
                settings = TrialSettings.model_validate(choice.settings or {})
            except ValidationError:  # told by that stage itself, with its place
                continue
            if settings.role == role:
                return settings
    return TrialSettings()
