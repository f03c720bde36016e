"""One round: its trials are looked at, its attempts planned, and those made that are still to be
made.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial

from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.side_by_side import run_workers
from synth.synthesizers.failures.bench import InjectionContext
from synth.synthesizers.failures.injecting import inject
from synth.synthesizers.failures.notes import Note
from synth.synthesizers.failures.planning import Offer, PlannedTask, planned_for
from synth.synthesizers.failures.repairing import repair
from synth.synthesizers.rebuilding import why_not_replayable

Job = Callable[[], Awaitable[None]]


async def play_round(
    bench: InjectionContext,
    items: Sequence[PlannedTask],
    offer: Offer,
    yielded: Mapping[str, float],
    done: Sequence[Note],
) -> None:
    """Everything that comes of it goes to the bench; what is `done` is not made again. A ceiling
    leaves the rest to a rerun.
    """
    wanted = {identity for item in items for identity in (*item.twins, *item.failed)}
    trials = {trial.trajectory_id: trial for trial in bench.run.ledger.trajectories(wanted)}
    tasks = bench.run.ledger.tasks({item.task_id for item in items})
    misfits = await _misfits(bench, items, trials, tasks)
    jobs: list[Job] = []
    for item in items:
        await asyncio.sleep(
            0
        )  # looking for places in long trajectories takes its time, and an interrupt must not wait
        jobs += _jobs(bench, item, trials, tasks, offer, yielded, done, misfits)
    bench.run.progress.step(sum(note.tried and not note.open for note in done))
    await _all(bench, jobs)


async def _misfits(
    bench: InjectionContext,
    items: Sequence[PlannedTask],
    trials: Mapping[str, Trajectory],
    tasks: Mapping[str, Task],
) -> set[str]:
    """Trials that cannot be built on, each with a note of the reason."""
    found: set[str] = set()

    async def look(item: PlannedTask, identity: str) -> None:
        task, passes = tasks.get(item.task_id), identity in item.twins
        reason = await why_not_replayable(
            bench.run, task, trials[identity], bench.limits.step_timeout_s, passes=passes
        )
        if reason is not None:
            found.add(identity)
            again = reason.removeprefix("fault:") in RETRIED_BY_A_RERUN
            bench.made.scores.append(
                Note("twin", item.task_id, identity, reason, bench.round, open=again).as_score(
                    identity
                )
            )
            bench.made.again = bench.made.again or again

    await _each(
        bench,
        [
            partial(look, item, identity)
            for item in items
            for identity in (*item.twins, *item.failed)
        ],
    )
    return found


def _jobs(
    bench: InjectionContext,
    item: PlannedTask,
    trials: Mapping[str, Trajectory],
    tasks: Mapping[str, Task],
    offer: Offer,
    yielded: Mapping[str, float],
    done: Sequence[Note],
    misfits: set[str],
) -> Iterator[Job]:
    """What is still to be tried at a task."""
    twins = [trials[identity] for identity in item.twins if identity not in misfits]
    failed = [trials[identity] for identity in item.failed if identity not in misfits]
    if not twins and not failed:
        return
    task = tasks[item.task_id]
    over = {
        note.key for note in done if note.task_id == item.task_id and note.tried and not note.open
    }
    able = bench.run.spec_of(task.env, task.env_config).capabilities
    planned, declined = planned_for(
        item,
        twins,
        bench.settings,
        offer,
        yielded,
        bench.seed,
        {int(key) for key in over if key.isdigit()},
        affordances="affordances" in able,
    )
    for reason, count in declined.items():
        bench.made.scores += [
            Note("declined", item.task_id, f"{reason} {at}", reason, bench.round).as_score(
                item.task_id
            )
            for at in range(count)
        ]
    by_id = {twin.trajectory_id: twin for twin in twins}
    for attempt in planned:
        yield partial(inject, bench, attempt, by_id[attempt.twin_id], task)
    for trial in failed:
        if f"repair {trial.trajectory_id}" not in over:
            yield partial(_repaired, bench, trial, task)


async def _repaired(bench: InjectionContext, trial: Trajectory, task: Task) -> None:
    reason, again = await repair(bench, trial, task)
    note = Note(
        "repair", trial.task_id, f"repair {trial.trajectory_id}", reason, bench.round, open=again
    )
    bench.made.scores.append(note.as_score(trial.trajectory_id))
    if again:
        bench.made.again = True
        bench.made.left.add(trial.trajectory_id)


async def _all(bench: InjectionContext, jobs: Sequence[Job]) -> None:
    """The attempts, as many under way as there are places; none begins once a ceiling is
    reached.
    """

    async def counted(job: Job) -> None:
        if not bench.run.may_start():
            bench.made.again = True
            return
        await job()
        bench.run.progress.step(1)

    await _each(bench, [partial(counted, job) for job in jobs])


async def _each(bench: InjectionContext, jobs: Sequence[Job]) -> None:
    waiting = iter(jobs)

    async def worker() -> None:
        for job in waiting:
            await job()

    await run_workers(min(bench.places.limit, len(jobs)), worker)
