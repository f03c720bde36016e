"""Critical steps: which acts of failed trials decided their outcome, each tested by continuations
of the policy that is to be trained.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from synth.engine.asking import RoleClient
from synth.engine.context import Role, Run, Synthesizer
from synth.envs.world import EnvEntry
from synth.ledger.conclude import finalize_labels
from synth.ledger.ledger import Score, StageRef
from synth.ledger.state import evidence_key
from synth.ledger.storable import ended_line
from synth.models.admission import ConcurrencyLimit
from synth.policies.expert import expert_policy
from synth.rollout.limits import Limits
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.outcome import Outcome
from synth.schemas.stage import Plan, Shard
from synth.schemas.user import USER
from synth.side_by_side import run_workers
from synth.stats.sequential import control_count
from synth.synthesizers.rebuilding import why_not_replayable, world_versions
from synth.synthesizers.rollout import RolloutSettings, places_for, role_identity, trial_limits
from synth.synthesizers.steps.alternatives import DecisionState
from synth.synthesizers.steps.judged import JUDGE, JudgeProposal, suspected
from synth.synthesizers.steps.labels import Recorded, TestSummary, rows_of, untestable
from synth.synthesizers.steps.proposals import proposed
from synth.synthesizers.steps.recorded import Trial, base_trials, decisive_drops, recorded_tests
from synth.synthesizers.steps.settings import CriticalStepSettings
from synth.synthesizers.steps.state_tests import EXPERT, StateTests, Tested

SYNTHESIZER_NAME = "critical_step"
_EXPERT_ROLE = Role(expert_policy({"profiles": "correct"}, model_name=None, sampling={}), None)
"""The source of alternatives that is the world's own planner, without a misconception; a role of
that name takes its place.
"""


class PlannedTrial(msgspec.Struct, frozen=True):
    """A base trial whose steps are to be tested, and at how many of them the own act is compared
    with itself too.

    `solved` are the task's trials that succeeded, `done` the turns that have their tests (None: it
    was found that none can be tested).
    """

    trajectory_id: str
    task_id: str
    controls: int
    solved: Collection[str]
    done: Collection[int | None]
    outcome: str
    imported: bool


class TestPlan(msgspec.Struct, frozen=True):
    """A state to be tested, the rule that proposed its step, and whether the own act is compared
    with itself there too.
    """

    state: DecisionState
    rule: str
    control: bool


@dataclass(frozen=True, slots=True)
class CriticalStep:
    """The stage `critical_step`."""

    name: str
    config: CriticalStepSettings
    role: Role
    sources: Mapping[str, Role]
    limits: Limits
    judge: Role | None
    env: str
    env_config: Mapping[str, Any]
    seed: int
    places: ConcurrencyLimit

    @property
    def settings(self) -> Mapping[str, Any]:
        """What determines the tests."""
        return {
            **self.config.model_dump(
                mode="json", exclude={"shard", "live", "limits"}, by_alias=True
            ),
            "limits": self.limits.model_dump(),
            "seed": self.seed,
            "sources": {name: _identity(role) for name, role in self.sources.items()},
            **({} if self.judge is None else {"judge": _identity(self.judge)}),
            **role_identity(self.role),
        }

    def inputs(self, run: Run) -> str:
        """The base trials, what came of them, and the versions of their worlds."""
        trials = self._base_trials(run)
        versions = world_versions(run, {trial.task_id for trial in trials})
        drops = decisive_drops(run, self.name)
        return content_hash(
            [
                run.spec_of(self.env, self.env_config).version,
                versions,
                trials,
                *([drops] if drops else []),
            ]
        )

    def plan(self, run: Run, stage_key: str) -> Plan:
        """Shards of trials that have steps without a test."""
        tests = recorded_tests(run, stage_key)
        left = self._left(run, stage_key, tests)
        units = sum(len(shard.items) for shard in left) * self.config.proposals.per_trajectory
        return Plan(left, (), units, "steps")

    def _left(self, run: Run, stage_key: str, tests: Sequence[Recorded]) -> list[Shard]:
        trials = self._trials(run, tests)
        cut = [trials[i : i + self.config.shard] for i in range(0, len(trials), self.config.shard)]
        shards = [
            Shard(content_hash([trial.trajectory_id for trial in part]), part) for part in cut
        ]
        return [shard for shard in shards if (stage_key, shard.name) not in run.ledger.state.named]

    def _base_trials(self, run: Run) -> list[Trial]:
        return base_trials(run, self.env, self.config.role, self.role)

    def _trials(self, run: Run, tests: Sequence[Recorded]) -> list[PlannedTrial]:
        """Those with steps to test. A/A tests go to trials in an order of their own, a second one
        where all have one.
        """
        proposals, every = self.config.proposals, self._base_trials(run)
        wanted = (
            {Outcome.FAILURE, Outcome.SUCCESS} if proposals.source == "all" else {Outcome.FAILURE}
        )
        trials = [trial for trial in every if trial.outcome in wanted]
        order = sorted(trial.trajectory_id for trial in trials)
        order.sort(key=lambda identity: content_hash(["control", self.seed, identity]))
        count = control_count(
            len(trials) * proposals.per_trajectory * proposals.alternatives,
            self.config.control_share,
        )
        controls = Counter(order[number % len(order)] for number in range(count))
        solved: dict[str, list[str]] = {}
        for trial in every:
            if trial.outcome == Outcome.SUCCESS:
                solved.setdefault(trial.task_id, []).append(trial.trajectory_id)
        done: dict[str, set[int | None]] = {}
        for row in tests:
            done.setdefault(row.subject_id, set()).add(row.turn)
        return [
            PlannedTrial(
                trial.trajectory_id,
                trial.task_id,
                controls[trial.trajectory_id],
                solved.get(trial.task_id, ()),
                done.get(trial.trajectory_id, ()),
                trial.outcome,
                trial.imported,
            )
            for trial in trials
        ]

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Tests the shard's steps and commits tests, values and continuations; steps that a rerun
        may tell more of are left to it.
        """
        if (stage_key, shard.name) in run.ledger.refresh().named:
            return
        misfits = await self._misfits(run, shard)
        fit = [
            trial
            for trial in shard.items
            if trial.trajectory_id not in misfits and None not in trial.done
        ]
        suspicions = await self._suspicions(run, shard, fit)
        asked = [
            trial
            for trial in fit
            if trial.trajectory_id not in suspicions or suspicions[trial.trajectory_id].asked
        ]
        waiting = self._proposed(
            run, asked, {identity: one.turns for identity, one in suspicions.items()}
        )
        run.progress.step(len(shard.items) * self.config.proposals.per_trajectory - len(waiting))
        tests = StateTests(
            run,
            shard.name,
            SYNTHESIZER_NAME,
            self.config.role,
            self.role,
            self.sources,
            alternatives=self.config.proposals.alternatives,
            samples=self.config.proposals.samples,
            limits=self.limits,
            places=self.places,
            seed=self.seed,
        )
        found: dict[int, Tested] = {}
        queue = iter(enumerate(waiting))

        async def worker() -> None:
            for number, entry in queue:
                found[number] = await tests.test(entry.state, control=entry.control)
                run.progress.step(1)

        await run_workers(min(self.places.limit, max(len(waiting), 1)), worker)
        settled = [number for number in sorted(found) if not found[number].open]
        never = [
            untestable(identity, reason)
            for identity, reason in sorted(misfits.items())
            if not _may_pass(reason)
        ]
        whole = (
            len(settled) == len(waiting)
            and len(never) == len(misfits)
            and all(one.asked for one in suspicions.values())
        )
        stopped = (
            run.stopped is not None
        )  # the journal then outlives the shard, and gives the replies of open states again
        if not found and not never and not whole:
            return
        played = [attempt for number in sorted(found) for attempt in found[number].continuations]
        ended = (
            run.ledger.commit(StageRef(self.name, evidence_key(stage_key)), trajectories=played)
            if played
            else []
        )
        run.ledger.commit(
            StageRef(self.name, stage_key),
            scores=[
                *never,
                *(row for number in settled for row in self._rows(waiting[number], found[number])),
            ],
            replies=[
                *(
                    reply
                    for suspected in suspicions.values()
                    if whole or not stopped
                    for reply in suspected.replies
                ),
                *(
                    reply
                    for number in sorted(found)
                    if number in settled or not stopped
                    for reply in found[number].replies
                ),
            ],
            name=shard.name if whole else "",
        )
        for attempt in ended:
            run.progress.say(ended_line(attempt))

    async def _misfits(self, run: Run, shard: Shard) -> dict[str, str]:
        """Imported trials that cannot be built on here, each with the reason; without those that
        are known to be such already.
        """
        imported = [trial for trial in shard.items if trial.imported and None not in trial.done]
        trials = {
            trial.trajectory_id: trial
            for trial in run.ledger.trajectories({trial.trajectory_id for trial in imported})
        }
        tasks = run.ledger.tasks({trial.task_id for trial in imported})
        found: dict[str, str] = {}
        queue = iter(imported)

        async def worker() -> None:
            for trial in queue:
                passes, identity = trial.outcome == Outcome.SUCCESS, trial.trajectory_id
                task, patience = tasks.get(trial.task_id), self.limits.step_timeout_s
                reason = await why_not_replayable(
                    run, task, trials[identity], patience, passes=passes
                )
                if reason is not None:
                    found[identity] = reason

        await run_workers(min(self.places.limit, max(len(imported), 1)), worker)
        return found

    def _rows(self, entry: TestPlan, tested: Tested) -> list[Score]:
        return rows_of(entry.state, entry.rule, tested.tests, tested.untested, self.role.policy)

    async def _suspicions(
        self, run: Run, shard: Shard, trials: Sequence[PlannedTrial]
    ) -> dict[str, JudgeProposal]:
        """What a judge suspects of the failed ones of a shard's trials, by trial, in their order;
        nothing where the flow has no judge.
        """
        if self.judge is None or not trials:
            return {}
        asking, most = (
            RoleClient(run, shard.name, JUDGE, self.judge),
            self.config.proposals.per_trajectory,
        )
        found: dict[str, JudgeProposal] = {
            trial.trajectory_id: JudgeProposal(asked=False) for trial in trials
        }
        waiting = run.ledger.trajectories(set(found))

        async def worker() -> None:
            for trajectory in waiting:
                if not run.may_start():
                    return
                failed = trajectory.outcome is Outcome.FAILURE
                found[trajectory.trajectory_id] = (
                    await suspected(asking, trajectory, most) if failed else JudgeProposal()
                )

        await run_workers(min(self.places.limit, len(found)), worker)
        return found

    def _proposed(
        self, run: Run, trials: Sequence[PlannedTrial], suspicions: Mapping[str, Sequence[int]]
    ) -> list[TestPlan]:
        """The steps of some trials that are still to be tested."""
        wanted = {identity for trial in trials for identity in (trial.trajectory_id, *trial.solved)}
        recorded = {
            trajectory.trajectory_id: trajectory for trajectory in run.ledger.trajectories(wanted)
        }
        tasks = run.ledger.tasks({trial.task_id for trial in trials})
        drops = decisive_drops(run, self.name)
        found: list[TestPlan] = []
        for trial in trials:
            parent = recorded[trial.trajectory_id]
            successes = [
                recorded[identity] for identity in trial.solved if identity != trial.trajectory_id
            ]
            suspected, dropped = (
                suspicions.get(trial.trajectory_id, ()),
                drops.get(trial.trajectory_id, ()),
            )
            steps = proposed(
                parent, successes, self.config.proposals.per_trajectory, suspected, dropped
            )
            drawn = sorted(
                steps,
                key=lambda step: content_hash(
                    ["control", self.seed, trial.trajectory_id, step.turn]
                ),
            )
            controls = {step.turn for step in drawn[: trial.controls]}
            task = tasks[trial.task_id]
            left = [step for step in steps if step.turn not in trial.done]
            found += [
                TestPlan(DecisionState(parent, task, step.turn), step.rule, step.turn in controls)
                for step in left
            ]
        return found

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Tests by verdict, the A/A control, the expected share of false discoveries.

        Concludes the labels first: what they are worth depends on the control of the whole stage,
        so those that a former run has concluded
        are judged anew. None are made by a run that a ceiling stopped.
        """
        tests = recorded_tests(run, stage_key)
        findings = TestSummary(tests)
        if run.stopped is None or run.ledger.state.concluded(stage_key) is not None:
            finalize_labels(
                run.ledger, StageRef(self.name, stage_key), scores=findings.labels(tests)
            )
        return findings.report(sum(len(shard.items) for shard in self._left(run, stage_key, tests)))


def _may_pass(reason: str) -> bool:
    """Whether a rerun may find that a trial can be built on after all."""
    return reason.removeprefix("fault:") in RETRIED_BY_A_RERUN


def bind(
    name: str, config: CriticalStepSettings, flow: Flow, roles: Mapping[str, Role], world: EnvEntry
) -> CriticalStep:
    """The stage for a flow. Raises `ConfigError` for what the flow or its world lacks."""
    if flow.env is None:
        raise ConfigError(
            "critical_step needs a world: add `env: {name: ..., tasks: ...}` to the flow"
        )
    for wanted in (
        config.role,
        *(source for source in config.alternatives_from if source != EXPERT),
    ):
        if wanted == USER:
            raise ConfigError(
                f"{USER!r} plays the user of the world, not its agent; name a role of its own, "
                "such as explorer"
            )
        if wanted not in roles:
            raise ConfigError(
                f"critical_step needs the role {wanted!r}: add `models: {{{wanted}: ...}}` to the "
                "flow"
            )
    if (
        EXPERT in config.alternatives_from
        and EXPERT not in roles
        and EXPERT not in world.spec.capabilities
    ):
        raise ConfigError(f"world {flow.env.name} has no expert; name a role in alternatives_from")
    role = roles[config.role]
    names = config.alternatives_from or tuple(dict.fromkeys((config.role, EXPERT)))
    sources = {source: roles.get(source, _EXPERT_ROLE) for source in names}
    limits = config.limits or trial_limits(flow, config.role)
    places = places_for(RolloutSettings(live=config.live), role)
    judge = roles.get(JUDGE)
    judge = judge if judge is not None and judge.model is not None else None
    return CriticalStep(
        name,
        config,
        role,
        sources,
        limits,
        judge,
        flow.env.name,
        flow.env.settings(),
        flow.seed,
        places,
    )


def _identity(role: Role) -> Sequence[Any]:
    return [role.policy.identity, role.policy.model, role.policy.sampling]


SYNTHESIZER = Synthesizer(CriticalStepSettings, bind, of_world=True)
