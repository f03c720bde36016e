"""A study plays arms against each other at units (recorded turns), and judges the outcomes."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import msgspec
from pydantic import Field

from synth.boundary import guard, guard_part
from synth.engine.study.alternatives import Ask, Proposal
from synth.engine.study.arms import (
    CONTROL,
    TREATED,
    Arm,
    Episodes,
    PlannedUnit,
    Unit,
    play_arms,
    same_act_twice,
)
from synth.engine.study.effects.values import value_rows
from synth.engine.study.method import Method
from synth.engine.study.rebuilding import world_versions
from synth.engine.study.shard import ShardContext, UnitResult
from synth.engine.study.stage_context import StageContext, Trials, base_trials
from synth.engine.study.step_tests import TEST, TestSummary
from synth.ledger.ledger import Score
from synth.rollout.limits import Limits
from synth.rollout.start import BranchPoint
from synth.schemas import StepLabel, Trajectory, content_hash
from synth.stats.sequential import control_count
from synth.text.transcript.acts import act_digest


class Study(Method):
    """A method whose units are recorded turns. A stage consists of five functions, none of which
    looks at the ledger:

    `plan(base)` yields units of the base trials (of the setting `role`, and imported ones); pure.
    `propose(unit, ask)` gives other acts, each of which is tested; left out, the role is sampled.
    `arms(unit, proposal)` returns the arms; left out, the act is tested against the own one. An
    `Arm` puts `force` there and goes on live; it is played against the arm named `control` until
    the sequential test has decided, or `n` times.
    `judge(unit, played)` yields labels, `StepLabel.tested(unit, played.sequential_test("treated",
    "control"))`, which is its default, or rows of the method's own; pure. `finalize` and `report`
    have working defaults: statuses by the A/A control, which a share of the units gets.

    A study that plans otherwise than by turns overrides `units` and `states`. All studies have the
    settings `role` (plays the trials, and continues them), `limits` (left out, those of the flow's
    rollout) and `live` (as for a rollout).
    """

    unit: ClassVar[str] = "steps"
    metric: ClassVar[str] = TEST
    needs_env: ClassVar[bool] = True

    role: str = "explorer"
    limits: Limits | None = None
    live: int | None = Field(default=None, ge=1)

    def plan(self, base: Trials) -> Iterator[Unit]:
        """Yields the units, the same ones each time."""
        raise NotImplementedError

    async def propose(self, unit: Unit, ask: Ask) -> Sequence[Proposal]:
        """Proposes acts to be tested at a unit."""
        return await ask.alternatives([self.player])

    def arms(self, unit: Unit, proposal: Proposal) -> Sequence[Arm]:
        """The arms to be played at a unit for one proposal; left out, its act against the own
        one.
        """
        return Arm(TREATED, force=proposal.act), Arm(CONTROL, force=unit.recorded_act)

    def judge(self, unit: Unit, played: Episodes) -> Iterator[StepLabel | Score]:
        """Yields labels or rows from the outcomes; left out, the label of that test."""
        yield StepLabel.tested(unit, played.sequential_test(TREATED))

    def base(self, stage: StageContext) -> Trials:
        """The trials that the units are planned from."""
        return base_trials(
            stage,
            self.bound.env.name,
            str(self.player.name),
            self.player.role,
        )

    def inputs(self, stage: StageContext) -> Any:
        """The base trials, and the versions of their environments."""
        rows = self.base(stage).rows
        env = self.bound.env
        version = stage.run.spec_of(env.name, env.settings()).version

        return [
            version,
            world_versions(stage.run, {row.task_id for row in rows}),
            rows,
        ]

    def units(self, stage: StageContext) -> Sequence[PlannedUnit]:
        """The planned units; the engine draws a share of them for the control."""
        found = [
            (
                unit.start.trajectory.trajectory_id,
                unit.start.turn,
                unit.rule,
            )
            for unit in guard(f"{self.method}: plan", lambda: [*self.plan(self.base(stage))])
        ]
        share = control_count(len(found), getattr(self, "control_share", 0.05))
        seed = self.player.seed
        order = sorted(found, key=lambda one: content_hash(["control", seed, *one[:2]]))

        controls = set(order[:share])
        return [PlannedUnit(*one, one in controls) for one in found]

    def key_of(self, unit: PlannedUnit) -> Any:
        """The trial and its turn, or the trial alone."""
        identity = unit.trajectory_id
        return identity if unit.turn is None else [identity, unit.turn]

    def left(self, stage: StageContext, units: Sequence[PlannedUnit]) -> Sequence[PlannedUnit]:
        """Turns without a row; a row without a turn is about the whole trial."""
        done = self.tested_turns(stage)
        return [
            unit
            for unit in units
            if done.isdisjoint(
                {
                    (unit.trajectory_id, unit.turn),
                    (unit.trajectory_id, None),
                }
            )
        ]

    def tested_turns(self, stage: StageContext) -> set[tuple[str, int | None]]:
        """(trajectory, turn) of each row; without a turn, the row is about the trial as a whole."""
        return {(row.subject_id, row.turn) for row in stage.rows(dict[str, Any], self.metric)}

    async def states(self, shard: ShardContext, units: Sequence[PlannedUnit]) -> Sequence[Unit]:
        """Reads the trials and tasks of planned units."""
        trials, tasks = shard.trials_with_tasks({unit.trajectory_id for unit in units})
        found = []
        for unit in units:
            trial = trials[unit.trajectory_id]
            start = BranchPoint(trial, unit.turn or 0)
            found.append(Unit(start, unit.rule, unit.control, tasks[trial.task_id]))
        return found

    async def play(self, shard: ShardContext, units: Sequence[PlannedUnit]) -> None:
        """Tests all units. Trials that cannot be replayed here get a row that says so, unless a
        rerun may find otherwise.
        """

        trials = shard.trials({unit.trajectory_id for unit in units})
        misfits = await shard.misfits(trials, self.unfit)
        for identity, reason in misfits.items():
            result = shard.of(identity)
            result.scores += [] if result.open else [self.untestable(trials[identity], reason)]

        fit = [unit for unit in units if unit.trajectory_id not in misfits]
        states = await self.states(shard, fit)
        shard.run.progress.step(sum(map(self.progress_of, units)) - len(states))

        async def test(unit: Unit, result: UnitResult) -> None:
            await self.test(shard, unit, result)
            shard.run.progress.step(1)

        await shard.each({f"unit {at}": unit for at, unit in enumerate(states)}, test)

    def untestable(self, trial: Trajectory, reason: str) -> Score:
        """The row of a trial that cannot be tested."""
        return Score(
            trial.trajectory_id,
            TEST,
            None,
            None,
            StepLabel(untested=reason),
        )

    async def test(self, shard: ShardContext, unit: Unit, result: UnitResult) -> None:
        """Runs all tests of a unit, one after the other, since they share the continuations of the
        own act. A unit that is open gets no row.
        """

        state = unit.state
        ask = Ask(shard, state, result)
        at = f"turn {unit.start.turn} of trajectory {unit.start.trajectory.trajectory_id}"
        what = f"{self.method}: {{}}, {at}"
        proposals = await guard_part(what.format("propose"), lambda: self.propose(unit, ask))
        result.open = ask.open
        if ask.open:
            return

        arms = [guard(what.format("arms"), partial(self.arms, unit, one)) for one in proposals]
        pairs = zip(proposals, arms, strict=True)
        played = [await play_arms(shard, state, treated, one) for one, treated in pairs]
        judging = (partial(self._judged, unit, one) for one in played)
        made = [label for judge in judging for label in guard(what.format("judge"), judge)]
        if not proposals:
            made.append(
                StepLabel(
                    proposed_by=unit.rule,
                    untested=ask.lost or "no_alternative",
                )
            )

        if unit.control and not shard.player.certain(shard.run, state.task):
            alike = self.arms(unit, Proposal(state.own))
            played.append(await same_act_twice(shard, state, alike))
            (effect,) = played[-1].effects.values()
            made.append(msgspec.structs.replace(StepLabel.tested(unit, effect), control=True))

        result.apart += [attempt for one in played for attempt in one.attempts]
        result.open = any(one.open for one in played)
        if not result.open:
            result.scores += [
                *self._rows(unit, made),
                *value_rows(unit, played, self.player.on_policy_for),
            ]

    def _judged(self, unit: Unit, played: Episodes) -> Sequence[StepLabel | Score]:
        return [*self.judge(unit, played)]

    def _rows(self, unit: Unit, made: Sequence[StepLabel | Score]) -> Iterator[Score]:
        """Yields labels as rows of the unit's turn."""
        state = unit.state
        whom = self.player.on_policy_for
        for one in made:
            if isinstance(one, Score):
                yield one
            else:
                label = msgspec.structs.replace(one, own=act_digest(state.own), on_policy_for=whom)
                yield Score(
                    state.parent.trajectory_id,
                    TEST,
                    label.difference,
                    state.turn,
                    label,
                )

    def finalize(self, stage: StageContext) -> Sequence[Score]:
        """The labels that the tests of the whole stage give."""
        tests = stage.rows(StepLabel, TEST)
        return TestSummary(tests).labels(tests)

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """Tests by verdict, the A/A control, the expected share of false discoveries."""
        left = sum(len(shard.items) for shard in self.todo(stage))
        return TestSummary(stage.rows(StepLabel, TEST)).report(left)
