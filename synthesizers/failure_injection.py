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

from synth.boundary import FaultError
from synth.engine.study.method import synthesizer
from synth.engine.study.rebuilding import why_not_replayable
from synth.engine.study.shard import OF_ALL, ShardContext, UnitResult
from synth.engine.study.stage_context import StageContext
from synth.engine.study.step_effect import DecisionState
from synth.ledger.ledger import Score
from synth.ledger.log.state import IMPORT
from synth.schemas import AttributionLabel, Outcome, Shard, Task, Trajectory, content_hash
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
    settled,
    yields_of,
)
from synth.synthesizers.failures.repairing import repair
from synth.synthesizers.rejected import RejectedError

NATURAL_SOURCES = frozenset({"rollout", IMPORT})
"""Synthesizers whose trials are unaltered; clean twins and failures to repair come from these."""


class Job(msgspec.Struct, frozen=True):
    """One attempt: an injection at a state by a plan, or, without a plan, a repair; its `note` gets
    the reason how it ended.
    """

    state: DecisionState
    note: Note
    plan: InjectionPlan | None = None


@synthesizer("failure_injection", version=2)
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

        def drawn(identities: Iterable[str]) -> list[str]:
            return sorted(identities, key=lambda one: content_hash([self.player.seed, one]))

        tasks = [
            PlannedTask(
                task_id,
                tuple(drawn(found[task_id][Outcome.SUCCESS])[: self.per_task]),
                tuple(drawn(found[task_id][Outcome.FAILURE])[: self.repairs]),
            )
            for task_id in drawn(found)
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

    async def play(
        self,
        shard: ShardContext,
        units: Sequence[PlannedTask],
    ) -> None:
        """Makes the attempts of one round that are still to be made."""
        number = units[0].round
        notes = [row.about for row in shard.rows(Note, ATTEMPT)]
        before = settled(note for note in notes if note.round < number)
        made = settled(note for note in notes if note.round == number)
        done = {(note.task_id, note.key) for note in made if note.tried and not note.open}
        shard.run.progress.step(len(done))

        planner = AttemptPlanner(self, self.offer(), yields_of(before), self.player.seed)
        tasks = shard.tasks({unit.task_id for unit in units})
        fit = await self._fit(shard, units)
        jobs: dict[str, Job] = {}

        for unit in units:
            await asyncio.sleep(0)  # looking for places in long trajectories must stop nobody
            if not fit.keys().isdisjoint((*unit.twins, *unit.failed)):
                own = {key for task_id, key in done if task_id == unit.task_id}
                planned = self._injections(
                    shard,
                    planner,
                    unit,
                    tasks[unit.task_id],
                    fit,
                    own,
                )
                jobs |= dict(planned) | dict(_repairs(unit, tasks[unit.task_id], fit, own))

        async def attempt(job: Job, result: UnitResult) -> None:
            if shard.run.may_start():
                await self._attempt(InjectionContext(self, shard, result, job.state), job)
            else:
                result.open = True

        await shard.each(jobs, attempt)

    async def _fit(
        self, shard: ShardContext, units: Sequence[PlannedTask]
    ) -> Mapping[str, Trajectory]:
        """Selects the trials that can be replayed, and notes why the others cannot."""
        trials = shard.trials({one for unit in units for one in (*unit.twins, *unit.failed)})
        misfits = await shard.misfits(trials, self.unfit)

        for identity, reason in misfits.items():
            result = shard.of(identity)
            task_id = trials[identity].task_id
            note = Note(
                "twin",
                task_id,
                identity,
                reason,
                units[0].round,
                open=result.open,
            )
            result.scores.append(note.as_score(identity))

        return {identity: one for identity, one in trials.items() if identity not in misfits}

    def _injections(
        self,
        shard: ShardContext,
        planner: AttemptPlanner,
        unit: PlannedTask,
        task: Task,
        fit: Mapping[str, Trajectory],
        done: Collection[str],
    ) -> Iterator[tuple[str, Job]]:
        """Plans the injections at one task that are not `done`, and notes strategies that were
        drawn but are ruled out.
        """

        task_id = unit.task_id
        planned, declined = planner.planned(
            unit,
            [fit[one] for one in unit.twins if one in fit],
            {int(key) for key in done if key.isdigit()},
            affordances=shard.able(task, "affordances"),
        )

        shard.of(OF_ALL).scores += [
            Note("declined", task_id, f"{why} {at}", why, unit.round).as_score(task_id)
            for why, count in declined.items()
            for at in range(count)
        ]

        for plan in planned:
            key = str(plan.ordinal)
            note = Note(
                "injection",
                task_id,
                key,
                "",
                unit.round,
                plan.strategy,
                plan.mode,
            )
            yield plan.seed, Job(DecisionState(fit[plan.twin_id], task, plan.turn), note, plan)

    async def _attempt(self, context: InjectionContext, job: Job) -> None:
        """Makes one attempt, and notes its result. A fault of the machinery is a reason too."""
        result = context.result
        run = context.shard.run
        subject = job.state.parent.trajectory_id

        try:
            if job.plan is None:
                reason = await repair(context)
            else:
                subject, reason = await inject(context, job.plan)
        except RejectedError as why:
            reason = why.reason
        except FaultError as error:
            run.faulted(error)
            reason = context.faulted(error.fault)

        note = msgspec.structs.replace(job.note, reason=reason, open=result.open)
        result.scores.append(note.as_score(subject))
        run.progress.step(1)

    async def unfit(
        self,
        shard: ShardContext,
        trial: Trajectory,
        task: Task | None,
    ) -> str | None:
        """Replays every trial, the flow's own too: a mistake needs an environment that answers the
        same again.
        """
        return await why_not_replayable(
            shard.run,
            task,
            trial,
            self.player.limits.step_timeout_s,
        )

    def finalize(self, stage: StageContext) -> Sequence[Score]:
        """The labels that follow from the tests of the whole stage."""
        return labels(stage.rows(AttributionLabel, *TESTS))

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """Attempts, confirmed labels, reasons of the others, the mix of modes, the cost."""
        clean = {task.task_id for task in self.units(stage) if task.twins}
        without = len(stage.task_ids().keys() - clean) if self.per_task else 0
        return injection_report(stage, self.modes, without)


def _repairs(
    unit: PlannedTask, task: Task, fit: Mapping[str, Trajectory], done: Collection[str]
) -> Iterator[tuple[str, Job]]:
    """Plans the repairs at one task that are not `done`."""
    for identity in unit.failed:
        # beside the keys of repairs, injections have their ordinals
        key = f"repair {identity}"
        if identity in fit and key not in done:
            note = Note("repair", unit.task_id, key, "", unit.round)
            yield identity, Job(DecisionState(fit[identity], task, 0), note)
