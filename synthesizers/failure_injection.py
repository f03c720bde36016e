"""Failure injection: puts mistakes into clean trials and corrections into failed ones, and tests
each live.

The stage attempts them in rounds: the modes that a round draws depend on the yields of the rounds
before it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec

from synth.engine.study.method import synthesizer
from synth.engine.study.rebuilding import why_not_replayable
from synth.engine.study.shard import OF_ALL, ShardContext, UnitResult
from synth.engine.study.stage_context import StageContext
from synth.engine.study.step_effect import DecisionState
from synth.ledger.ledger import Score
from synth.ledger.log.state import IMPORT
from synth.schemas.canonical import content_hash
from synth.schemas.labels import AttributionLabel
from synth.schemas.outcome import Outcome
from synth.schemas.stage import Shard
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.synthesizers.failures.context import InjectionContext, InjectionSettings
from synth.synthesizers.failures.injecting import inject
from synth.synthesizers.failures.planning import (
    AttemptPlanner,
    InjectionPlan,
    PlannedTask,
    in_rounds,
)
from synth.synthesizers.failures.records import (
    ATTEMPT,
    OF_INJECTED_RUNS,
    TESTS,
    Note,
    injection_report,
    labels,
    note_of,
    settled,
    yields_of,
)
from synth.synthesizers.failures.repairing import repair

NATURAL_SOURCES = frozenset({"rollout", IMPORT})
"""Synthesizers whose trials are unaltered; clean twins and failures to repair come from these."""


class Job(msgspec.Struct, frozen=True):
    """One attempt: an injection at a state by a plan, or, without a plan, a repair."""

    state: DecisionState
    plan: InjectionPlan | None = None


@synthesizer("failure_injection")
class FailureInjection(InjectionSettings):
    """Puts mistakes into clean trials and corrections into failed ones, and tests each live."""

    unit = "attempts"
    at_once = 1

    def inputs(self, stage: StageContext) -> Any:
        """The trials that the flow has collected so far."""
        return [task.identity for task in self.units(stage)]

    def units(self, stage: StageContext) -> Sequence[PlannedTask]:
        """The tasks in a drawn order, each with as many of its trials as the settings can use."""
        found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for row in stage.run.ledger.records():
            if row["synthesizer"] in NATURAL_SOURCES:
                found[row["task_id"]][row["outcome"]].append(row["trajectory_id"])

        seed = self.player.seed

        def drawn(identities: Sequence[str], count: int) -> tuple[str, ...]:
            order = sorted(
                identities,
                key=lambda identity: content_hash([seed, identity]),
            )
            return tuple(order[:count])

        tasks = [
            PlannedTask(
                task_id,
                drawn(found[task_id][Outcome.SUCCESS], self.per_task),
                drawn(found[task_id][Outcome.FAILURE], self.repairs),
            )
            for task_id in sorted(found, key=lambda task_id: content_hash([seed, task_id]))
        ]
        return in_rounds((task for task in tasks if task.twins or task.failed), self)

    def cut(self, units: Sequence[PlannedTask]) -> Iterator[Shard]:
        """One shard per round."""
        for _, part in groupby(units, lambda task: task.round):
            tasks = list(part)
            yield Shard(content_hash([task.identity for task in tasks]), tasks)

    def progress_of(self, unit: PlannedTask) -> int:
        """Progress counts attempts."""
        return min(self.per_task, len(unit.twins) * self.per_twin) + len(unit.failed)

    def shown(self, stage: StageContext) -> Iterable[str]:
        """The injected runs that the stage has labelled."""
        return sorted({row.subject_id for row in stage.rows(AttributionLabel, *OF_INJECTED_RUNS)})

    async def play(self, shard: ShardContext, units: Sequence[PlannedTask]) -> None:
        """Makes the attempts of one round that are still to be made."""
        number = units[0].round
        planner, done = self._planner(shard, number)
        trials = shard.trials({one for unit in units for one in (*unit.twins, *unit.failed)})
        tasks = shard.tasks({unit.task_id for unit in units})
        fit = await self._fit(shard, trials, number)
        jobs: dict[str, Job] = {}

        for unit in units:
            await asyncio.sleep(0)  # looking for places in long trajectories must stop nobody
            if not fit.keys().isdisjoint((*unit.twins, *unit.failed)):
                task = tasks[unit.task_id]
                own = {key for task_id, key in done if task_id == unit.task_id}
                jobs |= self._jobs(shard, planner, unit, task, fit, own)

        shard.run.progress.step(len(done))

        async def attempt(job: Job, result: UnitResult) -> None:
            if shard.run.may_start():
                await self._attempt(
                    InjectionContext(self, shard, result, job.state),
                    job,
                    number,
                )
            else:
                result.open = True

        await shard.each(jobs, attempt)

    def _planner(
        self, shard: ShardContext, number: int
    ) -> tuple[AttemptPlanner, set[tuple[str, str]]]:
        """(the planner of a round, the tasks and keys of its attempts that are done)."""
        notes = [row.about for row in shard.rows(Note, ATTEMPT)]
        before = settled(note for note in notes if note.round < number)
        made = settled(note for note in notes if note.round == number)
        done = {(note.task_id, note.key) for note in made if note.tried and not note.open}

        return AttemptPlanner(self, self.offer(), yields_of(before), self.player.seed), done

    async def _fit(
        self,
        shard: ShardContext,
        trials: Mapping[str, Trajectory],
        number: int,
    ) -> Mapping[str, Trajectory]:
        """Selects the trials that can be replayed, and notes why the others cannot."""
        misfits = await shard.misfits(trials, self.unfit)
        for identity, reason in misfits.items():
            task_id = trials[identity].task_id
            result = shard.of(identity)
            note = Note(
                "twin",
                task_id,
                identity,
                reason,
                number,
                open=result.open,
            )
            result.scores.append(note.as_score(identity))

        return {identity: one for identity, one in trials.items() if identity not in misfits}

    def _jobs(
        self,
        shard: ShardContext,
        planner: AttemptPlanner,
        unit: PlannedTask,
        task: Task,
        fit: Mapping[str, Trajectory],
        done: Collection[str],
    ) -> Mapping[str, Job]:
        """Plans the attempts at one task that are not `done`, and notes strategies that were drawn
        but are ruled out.
        """

        twins, failed = (
            [fit[one] for one in ids if one in fit] for ids in (unit.twins, unit.failed)
        )
        able = shard.able(task, "affordances")
        ordinals = {int(key) for key in done if key.isdigit()}
        planned, declined = planner.planned(unit, twins, ordinals, affordances=able)
        shard.of(OF_ALL).scores += [
            Note("declined", unit.task_id, f"{why} {at}", why, unit.round).as_score(unit.task_id)
            for why, count in declined.items()
            for at in range(count)
        ]

        injections = {
            plan.seed: Job(DecisionState(fit[plan.twin_id], task, plan.turn), plan)
            for plan in planned
        }
        repairs = {
            trial.trajectory_id: Job(DecisionState(trial, task, 0))
            for trial in failed
            if _repair_key(trial) not in done
        }

        return injections | repairs

    async def _attempt(self, context: InjectionContext, job: Job, number: int) -> None:
        """Makes one attempt of round `number`, and notes its result."""
        result = context.result
        trial = job.state.parent
        if job.plan is not None:
            subject, reason = await inject(context, job.plan)
            note = note_of(job.plan, reason, number, still_open=result.open)
        else:
            subject = trial.trajectory_id
            reason = await repair(context)
            key = _repair_key(trial)
            note = Note(
                "repair",
                trial.task_id,
                key,
                reason,
                number,
                open=result.open,
            )

        result.scores.append(note.as_score(subject))
        context.shard.run.progress.step(1)

    async def unfit(self, shard: ShardContext, trial: Trajectory, task: Task | None) -> str | None:
        """Replays every trial, the flow's own too: a mistake needs an environment that answers the
        same again.
        """
        return await why_not_replayable(shard.run, task, trial, self.player.limits.step_timeout_s)

    def finalize(self, stage: StageContext) -> Sequence[Score]:
        """The labels that follow from the tests of the whole stage."""
        return labels(stage.rows(AttributionLabel, *TESTS))

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """Attempts, confirmed labels, reasons of the others, the mix of modes, the cost."""
        clean = {task.task_id for task in self.units(stage) if task.twins}
        without = len(stage.task_ids().keys() - clean) if self.per_task else 0
        return injection_report(stage, self.modes, without)


def _repair_key(trial: Trajectory) -> str:
    """The key of a repair, beside which injections have their ordinals."""
    return f"repair {trial.trajectory_id}"
