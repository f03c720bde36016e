"""A study: units (recorded turns) at which arms are played against each other, and what is judged
of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from synth.engine.context import Run
from synth.engine.study.alternatives import asked_for, merged, played_there
from synth.engine.study.arms import Arm, Episodes, play_arms, same_act_twice
from synth.engine.study.bench import Bench
from synth.engine.study.method import Method
from synth.engine.study.player import DecisionState, Player, Proposal, on_policy_for
from synth.engine.study.rebuilding import why_not_replayable, world_versions
from synth.engine.study.step_tests import TEST, VALUE, Recorded, TestSummary
from synth.engine.study.trials import Trials, base_trials
from synth.ledger.ledger import Score
from synth.ledger.log.state import IMPORT
from synth.ledger.tables.role_reply import RoleReply
from synth.ledger.typed import read
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.rollout.start import BranchPoint, recorded_act
from synth.schemas.canonical import content_hash
from synth.schemas.labels import StepLabel, StepValue
from synth.schemas.outcome import Outcome
from synth.schemas.policy import Act
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.stats.sequential import control_count
from synth.text.transcript.acts import act_digest

EXPERT = "expert"
"""The policy that plays what the world itself plans, and the capability that it needs."""


class Unit(msgspec.Struct, frozen=True):
    """A state at which arms are played: `rule` says what suggested it, `control` whether the own
    act is compared with itself there too (A/A). The engine adds the task.
    """

    start: BranchPoint
    rule: str = ""
    control: bool = False
    task: Task | None = None

    @property
    def state(self) -> DecisionState:
        """With its task. Raises `ValueError` for a unit that is only planned."""
        if self.task is None:
            raise ValueError("a planned unit has no task yet")
        return DecisionState(self.start.trajectory, self.task, self.start.turn)

    @property
    def recorded_act(self) -> Act:
        """What the policy did there."""
        return recorded_act(self.start.trajectory.turns[self.start.turn])


class PlannedUnit(msgspec.Struct, frozen=True):
    """A unit without what it is about."""

    trajectory_id: str
    turn: int
    rule: str = ""
    control: bool = False


class Ask:
    """Asks for other acts at a unit, and keeps the replies; `open` where a rerun may have more."""

    def __init__(self, study: "Study", bench: Bench, unit: Unit) -> None:
        self._study = study
        self._bench = bench
        self._unit = unit
        self.replies: list[RoleReply] = []
        self.lost: str | None = None
        self.open = False

    async def alternatives(
        self, sources: Sequence[Player], *, most: int = 1, samples: int = 5
    ) -> Sequence[Proposal]:
        """At most `most` acts that differ from the own one and from each other, one of each source
        in turn; `samples` are drawn of each at most.
        """
        state, found = self._unit.state, []
        for source in sources:
            if not self._able(source, state):
                continue
            if source.role.model is not None:
                client = self._bench.client(str(source.name), source.role)
                sampled = await asked_for(client, state, source.seed, most, samples)
            else:
                sampled = await played_there(self._bench.shared, source, state, samples)
            found.append(sampled.alternatives)
            self.replies += sampled.replies
            self.lost = self.lost or sampled.lost
            self.open = self.open or sampled.open
        return merged(state.own, found, most)

    def _able(self, source: Player, state: DecisionState) -> bool:
        """Whether a source can do anything else than was done there."""
        spec = self._bench.run.spec_of(state.task.env, state.task.env_config)
        same = source.role is self._bench.player.role and source.role.policy.deterministic
        return not same and (source.role.policy.name != EXPERT or EXPERT in spec.capabilities)


class Tested(msgspec.Struct, frozen=True):
    """What came of a unit; no label is made of it while it is `open`."""

    rows: Sequence[Score] = ()
    replies: Sequence[RoleReply] = ()
    continuations: Sequence[Trajectory] = ()
    open: bool = False


class Study(Method):
    """A method whose units are recorded turns. A stage is written with five functions, none of which
    looks at the ledger:

    `plan(base)` yields units of the base trials (of the setting `role`, and imported ones); pure.
    `propose(unit, ask)` gives other acts, each of which is tested; left out, the role is sampled.
    `arms(unit, proposal)`: what is played. An `Arm` puts `force` there and goes on live; it is
    played against the arm named `control` until the sequential test has decided, or `n` times.
    `judge(unit, played)` yields labels, `StepLabel.tested(unit, played.sequential_test("treated",
    "control"))`, or rows of the method's own; pure. `finalize` and `report` have working defaults:
    statuses by the A/A control, which a share of the units gets.

    Done here: the stage's key, resume (units without a row), shards, journal, ceilings, commits.
    What plans otherwise than by turns overrides `left`, `key_of` and `units`.
    """

    unit: ClassVar[str] = "steps"
    needs_world: ClassVar[bool] = True
    metric: ClassVar[str] = TEST

    def plan(self, base: Trials) -> Iterator[Unit]:
        """The units, the same ones each time."""
        raise NotImplementedError

    async def propose(self, unit: Unit, ask: Ask) -> Sequence[Proposal]:
        """Acts to be tested at a unit."""
        return await ask.alternatives([self.player])

    def arms(self, unit: Unit, proposal: Proposal) -> Sequence[Arm]:
        """What is played at a unit for one proposal."""
        raise NotImplementedError

    def judge(self, unit: Unit, played: Episodes) -> Iterator[StepLabel | Score]:
        """What the outcomes say."""
        raise NotImplementedError

    def base(self, run: Run) -> Trials:
        """What the units are planned of."""
        env = self.bound.flow.env
        name = "" if env is None else env.name
        return base_trials(run, name, str(self.player.name), self.player.role)

    def inputs(self, run: Run) -> str:
        """The base trials, and the versions of their worlds."""
        return self.digest(run)

    def digest(self, run: Run, *also: Any) -> str:
        """Of these, and of what else a study works on."""
        rows, env = self.base(run).rows, self.bound.flow.env
        version = None if env is None else run.spec_of(env.name, env.settings()).version
        versions = world_versions(run, {row.task_id for row in rows})
        return content_hash([version, versions, rows, *also])

    def left(self, run: Run, stage_key: str) -> Sequence[Any]:
        """Units without a row under the key; a share of all is compared with itself."""
        found = [
            (unit.start.trajectory.trajectory_id, unit.start.turn, unit.rule)
            for unit in self.plan(self.base(run))
        ]
        seed, share = (
            self.player.seed,
            control_count(len(found), getattr(self, "control_share", 0.05)),
        )
        order = sorted(found, key=lambda one: content_hash(["control", seed, *one[:2]]))
        controls, done = set(order[:share]), self.done(run, stage_key)
        return [
            PlannedUnit(*one, one in controls)
            for one in found
            if not done & {one[:2], (one[0], None)}
        ]

    def key_of(self, item: Any) -> Any:
        """The turn."""
        return [item.trajectory_id, item.turn]

    def done(self, run: Run, stage_key: str) -> set[tuple[str, int | None]]:
        """The turns that have a row; without a turn, trials as a whole."""
        rows = read(run.ledger, dict[str, Any], (self.metric,), stage_key=stage_key)
        return {(row.subject_id, row.turn) for row in rows}

    async def units(self, bench: Bench, items: Sequence[Any]) -> Sequence[Unit]:
        """The units of a shard, to be played."""
        trials = bench.trials({item.trajectory_id for item in items})
        tasks = bench.tasks(list(trials.values()))
        return [
            Unit(
                BranchPoint(trials[item.trajectory_id], item.turn),
                item.rule,
                item.control,
                tasks[trials[item.trajectory_id].task_id],
            )
            for item in items
        ]

    async def play(self, bench: Bench, items: Sequence[Any]) -> None:
        """Tests all units of a shard; their rows stand in their order."""
        fit = await self._fit(bench, items)
        units = await self.units(bench, fit)
        bench.run.progress.step(len(items) * self.units_of_an_item() - len(units))
        found: dict[int, Tested] = {}

        async def test(number: int) -> None:
            found[number] = await self.test(bench, units[number])
            bench.run.progress.step(1)

        await bench.each(range(len(units)), test)
        for number in sorted(found):
            unit, tested = f"unit {number}", found[number]
            bench.apart += tested.continuations
            bench.replies += [(unit, reply) for reply in tested.replies]
            bench.scores += [] if tested.open else tested.rows
            bench.left |= {unit} if tested.open else set()

    async def _fit(self, bench: Bench, items: Sequence[Any]) -> Sequence[Any]:
        """Without what belongs to trials that cannot be built on here: these have a row that says
        so, unless a rerun may find otherwise.
        """
        trials = bench.trials({item.trajectory_id for item in items})
        tasks, misfits = bench.tasks(list(trials.values())), dict[str, str]()

        async def look(trial: Trajectory) -> None:
            reason = await self.unfit(bench, trial, tasks.get(trial.task_id))
            if reason is not None:
                misfits[trial.trajectory_id] = reason

        await bench.each(list(trials.values()), look)
        for identity, reason in sorted(misfits.items()):
            if reason.removeprefix("fault:") in RETRIED_BY_A_RERUN:
                bench.left.add(identity)
            else:
                bench.scores.append(self.untestable(trials[identity], reason))
        return [item for item in items if item.trajectory_id not in misfits]

    async def unfit(self, bench: Bench, trial: Trajectory, task: Task | None) -> str | None:
        """Why a trial cannot be built on; of the flow's own all can."""
        if trial.synthesizer != IMPORT:
            return None
        passes, patience = trial.outcome is Outcome.SUCCESS, bench.player.limits.step_timeout_s
        return await why_not_replayable(bench.run, task, trial, patience, passes=passes)

    def untestable(self, trial: Trajectory, reason: str) -> Score:
        """The row of a trial of which nothing can be tested."""
        return Score(trial.trajectory_id, TEST, None, None, StepLabel(untested=reason))

    async def test(self, bench: Bench, unit: Unit) -> Tested:
        """All tests of a unit, one after the other: they share the continuations of the own act."""
        ask, state = Ask(self, bench, unit), unit.state
        proposals = await self.propose(unit, ask)
        if ask.open:
            return Tested(replies=ask.replies, open=True)
        played = [await play_arms(bench, state, self.arms(unit, one), one) for one in proposals]
        made = [label for one in played for label in self.judge(unit, one)]
        if not proposals:
            made.append(StepLabel(proposed_by=unit.rule, untested=ask.lost or "no_alternative"))
        if unit.control and not bench.player.certain(bench.run, state.task):
            arms = self.arms(unit, Proposal(state.own))
            played.append(await same_act_twice(bench, state, arms))
            effect = next(iter(played[-1].effects.values()))
            made.append(msgspec.structs.replace(StepLabel.tested(unit, effect), control=True))
        return Tested(
            [*self._rows(state, unit, made), *_values(state, unit, played, self._whom())],
            ask.replies,
            [attempt for one in played for attempt in one.attempts],
            any(one.open for one in played),
        )

    def _whom(self) -> str:
        return on_policy_for(self.player.role.policy)

    def _rows(
        self, state: DecisionState, unit: Unit, made: Sequence[StepLabel | Score]
    ) -> Iterator[Score]:
        """Labels as rows of the unit's turn."""
        for one in made:
            if isinstance(one, Score):
                yield one
                continue
            label = msgspec.structs.replace(
                one, own=act_digest(state.own), on_policy_for=self._whom()
            )
            yield Score(state.parent.trajectory_id, TEST, label.difference, state.turn, label)

    def finalize(self, run: Run, stage_key: str) -> Sequence[Score]:
        """The labels that the tests of the whole stage give."""
        tests = self.tests(run, stage_key)
        return TestSummary(tests).labels(tests)

    def tests(self, run: Run, stage_key: str) -> list[Recorded]:
        """All test rows under a stage's key."""
        return list(read(run.ledger, StepLabel, (TEST,), stage_key=stage_key))

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Tests by verdict, the A/A control, the expected share of false discoveries."""
        left = sum(len(shard.items) for shard in self.planned(run, stage_key).shards)
        return TestSummary(self.tests(run, stage_key)).report(left)


def _values(
    state: DecisionState, unit: Unit, played: Sequence[Episodes], whom: str
) -> Iterator[Score]:
    """The acts that were continued, with what each continuation came to, each counted once, the
    recorded trajectory never.
    """
    counted: dict[str, dict[str, bool]] = {}
    for act, side in (found for one in played for found in one.values(state.own)):
        counted.setdefault(act, {}).update(zip(side.ids, side.solved, strict=True))
    for act, solved in counted.items():
        if solved:
            wins, n = sum(solved.values()), len(solved)
            about = StepValue(
                proposed_by=unit.rule,
                own=act_digest(state.own),
                on_policy_for=whom,
                act=act,
                successes=wins,
                n=n,
            )
            yield Score(state.parent.trajectory_id, VALUE, wins / n, state.turn, about)
