"""Critical steps: which acts of failed trials decided their outcome, each tested by continuations
of the policy that is to be trained.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from synth.engine.context import Role, Run
from synth.engine.study.arms import CONTROL, Arm, Episodes
from synth.engine.study.bench import OF_ALL, Bench
from synth.engine.study.method import synthesizer
from synth.engine.study.player import Proposal
from synth.engine.study.study import EXPERT, Ask, Study, Unit
from synth.engine.study.trials import decisive_drops
from synth.policies.scripted import expert_policy
from synth.rollout.limits import Limits
from synth.rollout.start import BranchPoint
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError
from synth.schemas.labels import StepLabel
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Trajectory
from synth.stats.sequential import control_count
from synth.synthesizers.steps.judged import JUDGE, JudgeProposal, suspected
from synth.synthesizers.steps.proposals import proposed

SYNTHESIZER_NAME = "critical_step"
_EXPERT_ROLE = Role(expert_policy({"profiles": "correct"}, model_name=None, sampling={}), None)
"""The source of alternatives that is the world's own planner, without a misconception; a role of
that name takes its place.
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


class PlannedTrial(msgspec.Struct, frozen=True):
    """A base trial whose steps are to be tested, and at how many of them the own act is compared
    with itself too.

    `solved` are the task's trials that succeeded, `done` the turns that have their tests (None: it
    was found that none can be tested).
    """

    trajectory_id: str
    controls: int
    solved: Collection[str]
    done: Collection[int | None]


@synthesizer(SYNTHESIZER_NAME)
class CriticalStep(Study):
    """Which steps are tested, against what, by whose continuations.

    `role`: whose trials they are, and who continues them. `alternatives_from`: roles, or `expert`
    for the world's own planner; left out, the role itself and, where the world has one, its expert.
    `control_share` of the tests compare the own act with itself (A/A), at least one where ten are
    planned. `limits`: left out, those of the flow's rollout. `shard` trajectories are committed
    together.
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
        roles, able = self.bound.roles, self.bound.world.spec.capabilities
        if EXPERT in self.alternatives_from and EXPERT not in roles and EXPERT not in able:
            name = self.bound.world.spec.name
            raise ConfigError(f"world {name} has no expert; name a role in alternatives_from")
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

    def inputs(self, run: Run) -> str:
        """The base trials, what came of them, and the versions of their worlds."""
        drops = decisive_drops(run, self.bound.name)
        return self.digest(run, *([drops] if drops else []))

    def units_of_an_item(self) -> int:
        """Steps of a trial."""
        return self.proposals.per_trajectory

    def key_of(self, item: PlannedTrial) -> str:
        """The trial."""
        return item.trajectory_id

    def left(self, run: Run, stage_key: str) -> Sequence[PlannedTrial]:
        """Trials with steps to test. A/A tests go to trials in an order of their own, a second one
        where all have one.
        """
        asked, base = self.proposals, self.base(run)
        trials = base.rows_of(Outcome.FAILURE, *([Outcome.SUCCESS] * (asked.source == "all")))
        order = sorted(trial.trajectory_id for trial in trials)
        order.sort(key=lambda identity: content_hash(["control", self.player.seed, identity]))
        tests = len(trials) * asked.per_trajectory * asked.alternatives
        count = control_count(tests, self.control_share)
        controls = Counter(order[number % len(order)] for number in range(count))
        solved, done = defaultdict[str, list[str]](list), defaultdict[str, set[int | None]](set)
        for trial in base.rows_of(Outcome.SUCCESS):
            solved[trial.task_id].append(trial.trajectory_id)
        for identity, turn in self.done(run, stage_key):
            done[identity].add(turn)
        return [
            PlannedTrial(
                trial.trajectory_id,
                controls[trial.trajectory_id],
                solved.get(trial.task_id, ()),
                done.get(trial.trajectory_id, ()),
            )
            for trial in trials
        ]

    async def play(self, bench: Bench, items: Sequence[PlannedTrial]) -> None:
        """Without the trials of which none can be tested, as was found before."""
        known = [item for item in items if None not in item.done]
        bench.run.progress.step((len(items) - len(known)) * self.units_of_an_item())
        await super().play(bench, known)

    async def units(self, bench: Bench, items: Sequence[PlannedTrial]) -> Sequence[Unit]:
        """The steps of some trials that are still to be tested."""
        trials = bench.trials({one for item in items for one in (item.trajectory_id, *item.solved)})
        suspicions = await self._suspicions(bench, [trials[item.trajectory_id] for item in items])
        drops, tasks = decisive_drops(bench.run, self.bound.name), bench.tasks(trials.values())
        found: list[Unit] = []
        for item in items:
            trial = trials[item.trajectory_id]
            suspicion = suspicions.get(item.trajectory_id, JudgeProposal())
            if not suspicion.asked:
                continue
            steps = proposed(
                trial,
                [trials[identity] for identity in item.solved if identity != item.trajectory_id],
                self.proposals.per_trajectory,
                suspicion.turns,
                drops.get(item.trajectory_id, ()),
            )
            key = ["control", self.player.seed, item.trajectory_id]
            drawn = sorted(steps, key=lambda step: content_hash([*key, step.turn]))
            controls = {step.turn for step in drawn[: item.controls]}
            found += [
                Unit(
                    BranchPoint(trial, step.turn),
                    step.rule,
                    step.turn in controls,
                    tasks[trial.task_id],
                )
                for step in steps
                if step.turn not in item.done
            ]
        return found

    async def _suspicions(
        self, bench: Bench, trials: Sequence[Trajectory]
    ) -> Mapping[str, JudgeProposal]:
        """What a judge suspects of failed trials, by trial, in their order; nothing where the flow
        has no judge.
        """
        if self.judging is None or not trials:
            return {}
        client = bench.client(JUDGE, self.judging)
        found = {trial.trajectory_id: JudgeProposal(asked=False) for trial in trials}

        async def ask(trial: Trajectory) -> None:
            if bench.run.may_start():
                failed = trial.outcome is Outcome.FAILURE
                most = self.proposals.per_trajectory
                found[trial.trajectory_id] = (
                    await suspected(client, trial, most) if failed else JudgeProposal()
                )

        await bench.each(trials, ask)
        for identity, one in found.items():
            bench.replies += [(OF_ALL, reply) for reply in one.replies]
            bench.left |= set() if one.asked else {identity}
        return found

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
