"""The run that stages work on: its ledger, the environments and models that the flow names,
ceilings, progress.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from synth.boundary import FaultError
from synth.claims import Leases, Units
from synth.claims.slots import ClaimedSlots
from synth.engine.budget import Breaker, Budget
from synth.engine.progress import Progress
from synth.ledger import StoredLedger
from synth.ledger.storage.journal import Journal
from synth.rollout.episode import Host
from synth.rollout.live_envs.parking import LiveWorlds, ParkedEnv
from synth.rollout.live_envs.threads import ThreadedEnv, Threads
from synth.rollout.user_lines import BOUNDARY
from synth.schemas import (
    ChatModel,
    ConfigError,
    Env,
    EnvSpec,
    Flow,
    MakeTasks,
    OpenEnv,
    PolicySpec,
    ScoringModel,
    Usage,
    User,
)

AGENT, USER = "the agent", "the user"
"""The breakers of those who are asked in an episode; no role of a flow has such a name."""


@dataclass(frozen=True, slots=True)
class Role:
    """A role as a flow fills it: a policy, the model that it asks, if any, and the model that plays
    the user for it, if any.

    `open_scoring` opens the same model as one that gives probabilities; it raises `ConfigError`
    where its engine gives none. `prompts` are the user's own, by name, where the flow names them.
    """

    policy: PolicySpec
    model: ChatModel | None
    user: User | None = None
    open_scoring: Callable[[], ScoringModel] | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Run:
    """One run of a flow on one ledger. `stopped` says why no further episode starts, `refused` what
    the run ends with as an error.
    """

    ledger: StoredLedger
    flow: Flow
    roles: Mapping[str, Role]
    open_env: OpenEnv
    make_tasks: MakeTasks
    spec_of: Callable[[str, Mapping[str, Any]], EnvSpec]
    progress: Progress
    budget: Budget = field(default_factory=Budget)
    units: Units = field(default_factory=Units)
    leases: Leases = field(init=False)
    journals: dict[str, Journal] = field(default_factory=dict)
    hands: dict[str, ClaimedSlots] = field(default_factory=dict)
    exports: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    stopped: str | None = None
    refused: str | None = None
    told_faults: set[str] = field(default_factory=set)
    role_breakers: dict[str, Breaker] = field(default_factory=lambda: defaultdict(Breaker))
    _threads: Threads | None = None
    _live_worlds: dict[str, LiveWorlds] = field(default_factory=dict)
    _scoring: dict[str, ScoringModel] = field(default_factory=dict)

    def scoring(self, role: str, opening: Callable[[], ScoringModel]) -> ScoringModel:
        """A role's model as one that gives probabilities: opened once for all that is scored, since
        a model in the process is large.
        """
        if role not in self._scoring:
            self._scoring[role] = opening()
        return self._scoring[role]

    def world(self, name: str, config: Mapping[str, Any]) -> Env:
        """A fresh environment; one that blocks steps on threads. Under the flow's ceilings for
        environments it is opened once there is room for it.
        """
        spec = self.spec_of(name, config)
        most = most_live(self.flow, spec)
        if most is None:
            return self._opened(name, config)
        worlds = self._live_worlds.setdefault(name, LiveWorlds(most))
        return cast(Env, ParkedEnv(spec, lambda: self._opened(name, config), worlds))

    def _opened(self, name: str, config: Mapping[str, Any]) -> Env:
        env = self.open_env(name, config)
        if not env.spec.blocking:
            return env
        self._threads = self._threads or Threads()
        return cast(Env, ThreadedEnv(env, self._threads))

    def may_start(self) -> bool:
        """Whether a new episode may begin: no ceiling is reached, and the model's server does not
        only refuse.
        """
        refusals = (breaker.tripped() for breaker in self.role_breakers.values())
        self.refused = self.refused or next(filter(None, refusals), None)
        self.stopped = self.stopped or self.refused or self.budget.exhausted()
        return self.stopped is None

    def host(self) -> Host:
        """What episodes of this run ask, and tell."""
        return Host(self.may_start, self.turned, self.spoke, self.faulted)

    def turned(self, usage: Usage | None) -> None:
        """Counts a turn that an agent has decided."""
        self.role_breakers[AGENT].answered()
        if usage is not None:
            self.budget.add(usage)
        self.progress.turned(usage)

    def spoke(self, usage: Usage, role: str = USER) -> None:
        """Counts a reply of the model that plays the user, or of a role that plays no episode."""
        self.role_breakers[role].answered()
        self.budget.add(usage)
        self.progress.spoke(usage, role)

    def say_once(self, line: str) -> None:
        """Says a line that many pieces of work would say alike."""
        if line not in self.told_faults:
            self.told_faults.add(line)
            self.progress.say(line)

    def faulted(self, error: FaultError, role: str | None = None) -> None:
        """Counts an attempt that a fault ended, for the model at whose boundary it did, or a
        question that a `role` did not answer.

        The first of each kind, and of each role, is told at once.
        """
        at_user = error.detail.startswith(f"{BOUNDARY}: ")
        self.role_breakers[role or (USER if at_user else AGENT)].failed(error)

        kind = error.fault if role is None else f"{error.fault} {role}"
        if kind not in self.told_faults:
            self.told_faults.add(kind)
            self.progress.say(f"first fault of kind {error.fault}: {error.detail}")

    async def close(self) -> None:
        """Closes the models' connections."""
        for scoring in self._scoring.values():
            await scoring.close()
        for role in self.roles.values():
            if role.model is not None:
                await role.model.close()


def most_live(flow: Flow, spec: EnvSpec) -> int | None:
    """By `max_live_worlds` and by what fits into `max_world_memory_gib`, None without either.
    Raises `ConfigError` where none fits.
    """
    bounds = [] if flow.max_live_worlds is None else [flow.max_live_worlds]
    if flow.max_world_memory_gib is not None:
        if not spec.memory_bytes:
            raise ConfigError(
                f"max_world_memory_gib: world {spec.name!r} does not say what an instance takes; "
                "give its EnvSpec memory_bytes, or set max_live_worlds instead"
            )
        fit = int(flow.max_world_memory_gib * 2**30 / spec.memory_bytes)
        if fit < 1:
            need = spec.memory_bytes / 2**30
            raise ConfigError(
                f"max_world_memory_gib {flow.max_world_memory_gib:g}: one world {spec.name!r} "
                f"takes {need:.3g} GiB; allow for one at least"
            )
        bounds.append(fit)

    return min(bounds, default=None)
