"""Critical steps: finds the acts of failed trials that decided their outcome; continuations of the
policy that is to be trained test each of them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from pydantic import Field

from synth.engine.context import Role
from synth.engine.study.alternatives import EXPERT, Ask, Proposal, merged
from synth.engine.study.arms import PlannedUnit, Unit
from synth.engine.study.method import synthesizer
from synth.engine.study.shard import ShardContext
from synth.engine.study.stage_context import StageContext
from synth.engine.study.study import Study
from synth.policies.scripted import expert_policy
from synth.rollout.start import BranchPoint
from synth.schemas import ConfigError, Outcome, Trajectory, content_hash
from synth.stats.sequential import control_count
from synth.synthesizers.sibling_acts import (
    SIBLING,
    TRIALS,
    Siblings,
    guided_act,
    listed,
    price,
    sibling_act,
    siblings,
)
from synth.synthesizers.step_settings import Proposals as Proposals
from synth.synthesizers.suggested_steps import (
    JUDGE,
    decisive_drops,
    proposed,
    solved_retries,
    suspicions_of,
)

T = TypeVar("T")
_EXPERT_ROLE = Role(expert_policy({"profiles": "correct"}, model_name=None, sampling={}), None)
"""The environment's own planner as a source of alternatives, unless the flow has a role of that
name.
"""


@synthesizer("critical_step", version=2)
class CriticalStep(Study):
    """Tests steps of trials against alternatives, by continuations.

    `role`: plays the trials, and continues them.
    `proposals`: the steps that are tested, and the alternatives of each.
    `alternatives_from`: roles, `expert` for the environment's own planner, or `trials` for what
    other trials of the task did at the same state and passed; left out, the role itself and, where
    the environment has one, its expert. With `trials` alone, only such steps are tested.
    `control_share`: of the tests compare the own act with itself (A/A), at least one where ten are
    planned.
    `limits`: left out, those of the flow's rollout.
    `shard` trajectories are committed together; `live` as for a rollout.
    """

    proposals: Proposals = Proposals()
    alternatives_from: tuple[str, ...] = ()
    control_share: float = Field(default=0.05, gt=0, le=0.5)
    shard: int = Field(default=10, ge=1, le=200)

    def agents(self) -> Sequence[str]:
        """The role that continues, then the roles that propose."""
        named = (name for name in self.alternatives_from if name not in (EXPERT, TRIALS))
        return (self.role, *named)

    def bind(self) -> None:
        """Looks up the sources of alternatives, and the judge where the flow has one."""
        roles = self.bound.roles
        spec = self.bound.entry.spec

        if EXPERT in self.alternatives_from and EXPERT not in {*roles, *spec.capabilities}:
            raise ConfigError(f"world {spec.name} has no expert; name a role in alternatives_from")

        # the expert is no source in an environment without one: `Ask` skips it there
        names = self.alternatives_from or tuple(dict.fromkeys((self.role, EXPERT)))
        self.sources = [
            replace(self.player, name=name, role=roles.get(name, _EXPERT_ROLE))
            for name in names
            if name != TRIALS
        ]
        self.of_trials: Siblings | None = None
        judge = roles.get(JUDGE)
        self.judging = judge if judge is not None and judge.model is not None else None

    def identity(self) -> Mapping[str, Any]:
        """The roles that propose."""
        judge = {} if self.judging is None else {"judge": _identity(self.judging)}
        sources = {source.name: _identity(source.role) for source in self.sources}
        return {"sources": sources, **judge}

    def inputs(self, stage: StageContext) -> Any:
        """The base trials, the success potential that fell along them, the retries from them that
        passed, and the versions of their environments.
        """
        drops, retries = decisive_drops(stage), solved_retries(stage)
        more = drops, listed(retries), listed(self._siblings(stage))

        return [*super().inputs(stage), *filter(None, more)]

    def _siblings(self, stage: StageContext) -> Siblings:
        """What other trials suggest, where they are asked; base trials are the same all along."""
        if TRIALS not in self.alternatives_from:
            return {}
        if self.of_trials is None:
            self.of_trials = siblings(stage.run.ledger)
        return self.of_trials

    def units(self, stage: StageContext) -> Sequence[PlannedUnit]:
        """One unit per trial; a judge, asked later, decides which of its steps are tested."""
        also = [Outcome.SUCCESS] if self.proposals.source == "all" else []
        rows = self.base(stage).rows_of(Outcome.FAILURE, *also)
        told = self._siblings(stage)
        only = self.alternatives_from == (TRIALS,)
        return [
            PlannedUnit(row.trajectory_id) for row in rows if not only or row.trajectory_id in told
        ]

    def progress_of(self, unit: PlannedUnit) -> int:
        """Progress counts the steps of a trial."""
        return self.proposals.per_trajectory

    async def states(self, shard: ShardContext, units: Sequence[PlannedUnit]) -> Sequence[Unit]:
        """Lists the steps of these trials that have no test yet."""
        trials, tasks = shard.trials_with_tasks({unit.trajectory_id for unit in units})
        solved = [one for one in self.base(shard).rows_of(Outcome.SUCCESS) if one.task_id in tasks]
        successes = shard.trials({one.trajectory_id for one in solved})
        suspicions = await self._suspicions(shard, list(trials.values()))
        drops, self.retries = decisive_drops(shard), solved_retries(shard)
        controls = self._controls(shard)
        done = self.tested_turns(shard)
        found = list[Unit]()

        for identity in (unit.trajectory_id for unit in units if unit.trajectory_id in suspicions):
            trial = trials[identity]
            task = tasks[trial.task_id]
            # the trial itself may be a success, which is no departure from itself
            others = [
                one
                for name, one in successes.items()
                if one.task_id == trial.task_id and name != identity
            ]
            told = dict.fromkeys(self._siblings(shard).get(identity, ()), SIBLING)
            rules = proposed(
                trial,
                others,
                self.proposals.per_trajectory,
                suspicions[identity],
                drops.get(identity, ()),
                list(self.retries.get(identity, ())),
                self.proposals.rules,
            )
            steps = told if self.alternatives_from == (TRIALS,) else {**told, **rules, **told}
            steps = dict(islice(steps.items(), self.proposals.per_trajectory))

            controlled = self._drawn(steps, identity)[: controls[identity]]
            for turn, rule in steps.items():
                if (identity, turn) not in done:
                    found.append(Unit(BranchPoint(trial, turn), rule, turn in controlled, task))

        return found

    def _drawn(self, items: Iterable[T], *about: object) -> list[T]:
        """Draws an order for the control."""
        key = ["control", self.player.seed, *about]
        return sorted(items, key=lambda one: content_hash([*key, one]))

    def _controls(self, stage: StageContext) -> Counter[str]:
        """Counts, by trial, the steps whose own act is compared with itself too: in a drawn order
        each trial gets one, and a second one once all have one.
        """

        order = self._drawn(unit.trajectory_id for unit in self.units(stage))
        tests = len(order) * self.proposals.per_trajectory * self.proposals.alternatives
        count = control_count(tests, self.control_share)

        return Counter(order[number % len(order)] for number in range(count))

    async def _suspicions(
        self, shard: ShardContext, trials: Sequence[Trajectory]
    ) -> Mapping[str, Sequence[int]]:
        """What the judge suspects of these trials, where the flow has one and its rule is heard."""
        judge = self.judging if JUDGE in self.proposals.rules else None
        return await suspicions_of(judge, shard, trials, self.proposals.per_trajectory)

    async def propose(
        self,
        unit: Unit,
        ask: Ask,
    ) -> Sequence[Proposal]:
        """Proposes what retries from there did that passed, then samples all sources in turn."""
        most, samples = self.proposals.alternatives, self.proposals.samples
        start = unit.start
        named = self.retries.get(start.trajectory.trajectory_id, {}).get(start.turn, ())
        guided = [guided_act(one, start.turn) for one in ask.shard.trials(set(named)).values()]
        other = self._siblings(ask.shard).get(start.trajectory.trajectory_id, {})
        beside = ask.shard.trials(set(other.get(start.turn, ())[:1])).values()
        done = [sibling_act(one, start.turn) for one in beside]
        told = merged(ask.state.own, [guided, done], most)
        sampled: Sequence[Proposal] = ()
        if len(told) < most:
            sampled = await ask.alternatives(self.sources, most=most, samples=samples)

        return merged(ask.state.own, [[*told, *sampled]], most)

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """With what a confirmed act has cost, where trials suggested it."""
        found = dict(super().report(stage))
        if TRIALS in self.alternatives_from:
            tokens = stage.cost()["tokens"]
            found["also"] = [*found["also"], *price(tokens, found["verified"])]
        return found


def _identity(role: Role) -> Sequence[Any]:
    """The settings of a role that determine its proposals."""
    return [role.policy.identity, role.policy.model, role.policy.sampling]
