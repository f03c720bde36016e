"""Critical steps: which acts of failed trials decided their outcome, each tested by continuations
of the policy that is to be trained.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from synth.engine.context import Role
from synth.engine.study.alternatives import EXPERT, Ask, Proposal
from synth.engine.study.arms import CONTROL, Arm, Episodes
from synth.engine.study.method import synthesizer
from synth.engine.study.shard import OF_ALL, ShardContext, StageContext, UnitResult
from synth.engine.study.study import Study, Unit
from synth.engine.study.trials import Trial
from synth.ledger.role_reply import RoleReply
from synth.policies.expert import expert_policy
from synth.rollout.limits import Limits
from synth.rollout.start import BranchPoint
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError
from synth.schemas.labels import StepLabel
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Trajectory
from synth.stats.sequential import control_count
from synth.synthesizers.steps.judged import JUDGE, suspected
from synth.synthesizers.steps.proposals import decisive_drops, proposed

_EXPERT_ROLE = Role(expert_policy({"profiles": "correct"}, model_name=None, sampling={}), None)
"""The source of alternatives that is the environment's own planner, without a misconception; a role
of that name takes its place.
"""


class Proposals(BaseModel):
    """At most so many steps of a trajectory, and so many alternatives of each, drawn at most
    `samples` times from each source.

    `from`: steps of failed trials, or of successful ones too; truncated and invalid trials are
    never looked at.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    per_trajectory: int = Field(default=3, ge=1, le=100)
    alternatives: int = Field(default=2, ge=1, le=10)
    samples: int = Field(default=5, ge=1, le=100)
    source: Literal["failed", "all"] = Field(default="failed", alias="from")


@synthesizer("critical_step")
class CriticalStep(Study):
    """Which steps are tested, against what, by whose continuations.

    `role`: whose trials they are, and who continues them. `alternatives_from`: roles, or `expert`
    for the environment's own planner; left out, the role itself and, where the environment has one,
    its expert. `control_share` of the tests compare the own act with itself (A/A), at least one
    where ten are planned. `limits`: left out, those of the flow's rollout. `shard` trajectories are
    committed together.
    """

    role: str = "explorer"
    proposals: Proposals = Proposals()
    alternatives_from: tuple[str, ...] = ()
    control_share: float = Field(default=0.05, gt=0, le=0.5)
    limits: Limits | None = None
    shard: int = Field(default=10, ge=1, le=200)
    live: int | None = Field(default=None, ge=1)

    def agents(self) -> Sequence[str]:
        """Those that continue, and those that propose."""
        return (self.role, *(name for name in self.alternatives_from if name != EXPERT))

    def bind(self) -> None:
        """The sources of alternatives, and the judge, where the flow has one."""
        roles, spec = self.bound.roles, self.bound.world.spec
        if EXPERT in self.alternatives_from and not {EXPERT} & {*roles, *spec.capabilities}:
            raise ConfigError(f"world {spec.name} has no expert; name a role in alternatives_from")
        names = self.alternatives_from or tuple(dict.fromkeys((self.role, EXPERT)))
        self.sources = [
            replace(self.player, name=name, role=roles.get(name, _EXPERT_ROLE)) for name in names
        ]
        judge = roles.get(JUDGE)
        self.judging = judge if judge is not None and judge.model is not None else None

    def identity(self) -> Mapping[str, Any]:
        """Who proposes."""
        judge = {} if self.judging is None else {"judge": _identity(self.judging)}
        sources = {source.name: _identity(source.role) for source in self.sources}
        return {"sources": sources, **judge}

    def inputs(self, stage: StageContext) -> Any:
        """The base trials, what came of them, and the versions of their environments."""
        drops = decisive_drops(stage)
        return [*super().inputs(stage), *([drops] if drops else [])]

    def _looked_at(self, stage: StageContext) -> list[Trial]:
        also = [Outcome.SUCCESS] if self.proposals.source == "all" else []
        return self.base(stage).rows_of(Outcome.FAILURE, *also)

    def units(self, stage: StageContext) -> Sequence[str]:
        """Trials: which of their steps are tested is known once a judge was asked."""
        return [trial.trajectory_id for trial in self._looked_at(stage)]

    def key_of(self, unit: str) -> str:
        """The trial."""
        return unit

    def trial_of(self, unit: str) -> str:
        """The trial."""
        return unit

    def left(self, stage: StageContext, units: Sequence[str]) -> Sequence[str]:
        """Without the trials of which it was found that none of their steps can be tested."""
        done = self.tested_turns(stage)
        return [unit for unit in units if (unit, None) not in done]

    def progress_of(self, unit: str) -> int:
        """Steps of a trial."""
        return self.proposals.per_trajectory

    async def states(self, shard: ShardContext, units: Sequence[str]) -> Sequence[Unit]:
        """The steps of some trials that are still to be tested."""
        solved: defaultdict[str, list[str]] = defaultdict(list)
        for row in self.base(shard).rows_of(Outcome.SUCCESS):
            solved[row.task_id].append(row.trajectory_id)
        trials = shard.trials(units)
        others = {trial.task_id: solved[trial.task_id] for trial in trials.values()}
        read = shard.trials({*units, *(one for ids in others.values() for one in ids)})

        suspicions = await self._suspicions(shard, [trials[unit] for unit in units])
        tasks = shard.tasks({trial.task_id for trial in trials.values()})
        drops, controls = decisive_drops(shard), self._controls(shard)
        done, found = self.tested_turns(shard), list[Unit]()
        for unit in units:
            if unit not in suspicions:
                continue
            trial = trials[unit]
            steps = proposed(
                trial,
                [read[other] for other in others[trial.task_id] if other != unit],
                self.proposals.per_trajectory,
                suspicions[unit],
                drops.get(unit, ()),
            )
            key = ["control", self.player.seed, unit]
            drawn = sorted(steps, key=lambda step: content_hash([*key, step.turn]))
            controlled = {step.turn for step in drawn[: controls[unit]]}
            found += [
                Unit(
                    BranchPoint(trial, step.turn),
                    step.rule,
                    step.turn in controlled,
                    tasks[trial.task_id],
                )
                for step in steps
                if (unit, step.turn) not in done
            ]
        return found

    def _controls(self, stage: StageContext) -> Counter[str]:
        """At how many steps of each trial the own act is compared with itself too: trials get one
        each in a drawn order, and a second one where all have one.
        """
        order = sorted(self.units(stage))
        order.sort(key=lambda one: content_hash(["control", self.player.seed, one]))
        tests = len(order) * self.proposals.per_trajectory * self.proposals.alternatives
        count = control_count(tests, self.control_share)
        return Counter(order[number % len(order)] for number in range(count))

    async def _suspicions(
        self, shard: ShardContext, trials: Sequence[Trajectory]
    ) -> Mapping[str, Sequence[int]]:
        """The turns that a judge suspects of failed trials, by trial; nothing about trials that it
        was not asked about, which stay open.
        """
        if self.judging is None:
            return {trial.trajectory_id: () for trial in trials}
        client, most = shard.client(JUDGE, self.judging), self.proposals.per_trajectory
        found: dict[str, Sequence[int] | None] = {}
        replies: dict[str, Sequence[RoleReply]] = {}

        async def ask(trial: Trajectory, result: UnitResult) -> None:
            identity, turns = trial.trajectory_id, None
            if shard.run.may_start():
                failed = trial.outcome is Outcome.FAILURE
                replies[identity], turns = (
                    await suspected(client, trial, most) if failed else ((), ())
                )
            found[identity] = turns
            result.open |= turns is None

        await shard.each({trial.trajectory_id: trial for trial in trials}, ask)
        shard.of(OF_ALL).replies += [one for asked in sorted(replies) for one in replies[asked]]
        return {identity: turns for identity, turns in found.items() if turns is not None}

    async def propose(self, unit: Unit, ask: Ask) -> Sequence[Proposal]:
        """Of all sources in turn."""
        most, samples = self.proposals.alternatives, self.proposals.samples
        return await ask.alternatives(self.sources, most=most, samples=samples)

    def arms(self, unit: Unit, proposal: Proposal) -> Sequence[Arm]:
        """The alternative against the own act."""
        return (Arm("treated", force=proposal.act), Arm(CONTROL, force=unit.recorded_act))

    def judge(self, unit: Unit, played: Episodes) -> Iterator[StepLabel]:
        """Whether it decides."""
        yield StepLabel.tested(unit, played.sequential_test("treated"))


def _identity(role: Role) -> Sequence[Any]:
    return [role.policy.identity, role.policy.model, role.policy.sampling]
