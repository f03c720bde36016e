"""The settings of the stage `failure_injection`, the roles that play and write for it, and the
context of one attempt.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from pydantic import AfterValidator, Field

from synth.engine.asking import RoleRequest
from synth.engine.context import Role
from synth.engine.study.effects.effect import Effect
from synth.engine.study.method import Method
from synth.engine.study.player import Player, agent_in
from synth.engine.study.rebuilding import placed
from synth.engine.study.shard import ShardContext, UnitResult
from synth.engine.study.step_effect import DecisionState, step_effect
from synth.rollout.limits import Limits
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.rollout.start import ForcedAct
from synth.schemas import (
    Act,
    AgentTurn,
    Authorship,
    Completion,
    ConfigError,
    Env,
    Episode,
    Fault,
    PolicySpec,
    View,
)
from synth.synthesizers.rejected import RejectedError
from synth.text.failure_modes import SINGLE_AGENT, mast_weights

T = TypeVar("T")
Strategy = Literal["natural", "rule", "role", "environment", "prompt"]
BY_INJECTOR = frozenset({"role", "prompt"})
"""Strategies that need the role `injector`."""
_WEIGHTS: dict[Strategy, float] = {
    "natural": 1.0,
    "rule": 1.0,
    "role": 1.0,
    "environment": 0.5,
    "prompt": 0.5,
}


WRITERS = {
    "injector": "mistakes in words, so it needs a `model`; leave the role out for rules",
    "corrector": "corrections in words, so it needs a `model`",
}
"""Settings that name a role that writes, and why that needs a model."""


class NullPolicy:
    """A policy that never acts, in any episode."""

    def __init__(self, episode: Episode) -> None:
        pass

    async def act(self, view: View) -> Act:
        """Does nothing: the recorded turns are over."""
        return Act(turn=AgentTurn(""))


_SILENT = PolicySpec(
    name="silent",
    authorship=Authorship.SCRIPTED,
    identity={"policy": "silent"},
    open=NullPolicy,
    deterministic=True,
)
NOBODY = Role(_SILENT, None)
"""The role that plays where recorded turns are replayed; the stuck rule ends an episode that they
do not end.
"""


def _known_modes(value: dict[str, float]) -> dict[str, float]:
    """Refuses a code that is no mode of a single agent."""
    for code in value.keys() - set(SINGLE_AGENT):
        raise ValueError(
            f"{code!r} is no failure mode that a single agent shows; known: "
            f"{', '.join(SINGLE_AGENT)}"
        )
    return value


def _weights(value: dict[Any, float]) -> dict[Any, float]:
    """Refuses weights that are negative, endless, or all zero."""
    if not any(value.values()) or not all(0 <= one < float("inf") for one in value.values()):
        raise ValueError("weights are numbers from 0 on, one of them above 0")
    return value


Weights = AfterValidator(_weights)


class Offer(msgspec.Struct, frozen=True):
    """The strategies that the flow's policy and environment allow, by weight; `declined` has the
    reasons of those that they rule out.
    """

    strategies: Mapping[str, float]
    declined: Mapping[str, str]


class InjectionSettings(Method):
    """Puts so many mistakes into the trials of a task, of these kinds, and tests them.

    `per_task`: injected runs of a task, at most `per_twin` from one clean trial.
    `strategies`: weights of errors that the policy makes itself when it is sampled (`natural`), by
    rules (`rule`), written by the role `injector` (`role`, where the flow has it), planted in the
    environment's answers (`environment`), made by the policy itself once it has read the injector's
    text (`prompt`).
    `modes`: weights of the failure modes.
    `evidence`: `live` continuations of the role on both sides; or `replay` of the recorded rest,
    which says only whether that still works.
    `natural_draws`, `natural_temperature`: how often, and how warm, the policy is sampled for an
    error of its own.
    `repairs`: failed trials per task to be repaired, by corrections of the role `corrector` and the
    environment's expert, as far as there are such, at most `repair_rounds` tests of each.
    `controls`: share of the tests beside which the recorded turn is tested against itself.
    `round`: attempts before the first look at the yields of the modes; each later round is twice as
    long.
    `limits`: left out, those of the flow's rollout; `live` as for a rollout.
    """

    per_task: int = Field(default=2, ge=0, le=1000)
    per_twin: int = Field(default=4, ge=1)
    modes: Annotated[dict[str, float], AfterValidator(_known_modes), Weights] = Field(
        default_factory=mast_weights
    )
    strategies: Annotated[dict[Strategy, float], Weights] = Field(default_factory=_WEIGHTS.copy)
    role: str = "explorer"
    injector: str = "injector"
    corrector: str = "corrector"
    evidence: Literal["live", "replay"] = "live"
    natural_draws: int = Field(default=8, ge=1, le=64)
    natural_temperature: float = Field(default=1.3, gt=0, le=2)
    repairs: int = Field(default=0, ge=0, le=1000)
    repair_rounds: int = Field(default=3, ge=1, le=20)
    controls: float = Field(default=0.05, ge=0, le=1)
    limits: Limits | None = None
    round: int = Field(default=40, ge=1, le=1000)
    live: int | None = Field(default=None, ge=1)

    def cast(self) -> Player:
        """The role that continues after a mistake, or `NOBODY` where only recorded turns are
        replayed.
        """

        if self.evidence == "replay":
            # `NOBODY` has no name in the flow, and its episodes have no role
            return replace(self.playing(self.role, NOBODY), name=None)

        try:
            return self.playing(self.role, agent_in(self.method, self.role, self.bound.roles))
        except ConfigError as error:
            raise ConfigError(
                f"{error}, or say `evidence: replay` where there is no policy"
            ) from error

    def bind(self) -> None:
        """Looks up the roles that write; None stands for one that the flow does not have. Raises
        `ConfigError` for one without a model.
        """

        if self.evidence == "replay" and self.repairs:
            raise ConfigError(
                "repairs: they are tested by live continuations, and `evidence: replay` has none; "
                "leave one of them out"
            )

        self.writers: dict[str, Role | None] = {}

        for setting, what in WRITERS.items():
            name = getattr(self, setting)
            found = self.bound.roles.get(name)
            if found is not None and found.model is None:
                raise ConfigError(f"{setting}: the role {name!r} writes {what}")

            self.writers[setting] = found

        if self.writers["injector"] is None and BY_INJECTOR.issuperset(self.strategies):
            raise ConfigError(
                f"strategies: {', '.join(self.strategies)} needs the role {self.injector!r}: "
                f"add `models: {{{self.injector}: {{model: ...}}}}` to the flow"
            )

    def identity(self) -> Mapping[str, Any]:
        """The models that write."""
        return {
            name: None if found is None else [found.policy.model, found.policy.sampling]
            for name, found in self.writers.items()
        }

    def offer(self) -> Offer:
        """The strategies that this policy and these roles allow."""
        role = self.player.role
        policy = role.policy
        models = role.model is not None
        chats = models and policy.name == "chat"
        scripted = policy.authorship is Authorship.SCRIPTED
        # the first reason of a strategy stands
        reasons = (
            ("environment", scripted, "policy_reads_no_observations"),
            ("natural", not models and policy.deterministic, "policy_is_deterministic"),
            ("natural", models and not chats, "policy_is_no_chat_model"),
            ("prompt", not chats, "policy_is_no_chat_model"),
        )

        declined = dict[str, str]()

        if self.evidence == "replay":
            declined = dict.fromkeys(("natural", "environment", "prompt"), "evidence_is_replay")

        for strategy, ruled_out, reason in reasons:
            if ruled_out:
                declined.setdefault(strategy, reason)

        unwritten = BY_INJECTOR if self.writers["injector"] is None else frozenset[str]()
        offered = self.strategies.items()

        return Offer({name: weight for name, weight in offered if name not in unwritten}, declined)


@dataclass(frozen=True, slots=True)
class InjectionContext:
    """One attempt at a turn of a trial; `result` takes all that it produces."""

    settings: InjectionSettings
    shard: ShardContext
    result: UnitResult
    state: DecisionState

    @property
    def patience(self) -> float:
        """Seconds that a step of the environment may take."""
        return self.shard.player.limits.step_timeout_s

    def able(self, capability: str) -> bool:
        """Whether the task's environment has a capability."""
        return self.shard.able(self.state.task, capability)

    def faulted(self, fault: Fault) -> str:
        """Names a fault as a reason; the attempt stays open where the fault may pass."""
        self.result.open |= fault in RETRIED_BY_A_RERUN
        return f"fault:{fault}"

    async def ask(self, writer: str, question: RoleRequest, read: Callable[[Completion], T]) -> T:
        """Asks `injector` or `corrector`; the attempt stays open unless the role has answered,
        readably or not. Raises `RejectedError` without a readable answer, `ValueError` where the
        flow has no such role.
        """

        role = self.settings.writers[writer]
        if role is None:
            raise ValueError(f"nobody is {writer}")

        client = self.shard.client(getattr(self.settings, writer), role)
        answer = await client.ask(question, read)
        self.result.replies += answer.replies

        if answer.value is not None:
            return answer.value

        if answer.unreadable is not None:
            raise RejectedError("unreadable")

        self.result.open = True
        fault = answer.fault
        raise RejectedError("not_started" if fault is None else f"fault:{fault.fault}")

    def placed(self, turn: int) -> AbstractAsyncContextManager[Env]:
        """The environment in the state before a turn of the trial."""
        state = self.state
        return placed(self.shard.run, state.task, state.parent, turn, self.patience)

    async def tested(
        self, turn: int, good: ForcedAct, bad: ForcedAct, *, draws_from: int = 1
    ) -> Effect:
        """Tests `good` against `bad` before a turn of the trial, and hides the continuations from
        the flow.
        """

        shard = self.shard
        state = msgspec.structs.replace(self.state, turn=turn)
        effect = await step_effect(
            shard.episodes, shard.player, state, good, bad, draws_from=draws_from
        )
        self.result.apart += effect.continuations

        return effect
