"""One round: its trials are looked at, its attempts planned, and those made that are still to be
made.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial

from synth.engine.study.rebuilding import why_not_replayable
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.synthesizers.failures.bench import InjectionContext
from synth.synthesizers.failures.injecting import inject
from synth.synthesizers.failures.planning import Offer, PlannedTask, planned_for
from synth.synthesizers.failures.records import Note
from synth.synthesizers.failures.repairing import repair

NOT_BEGUN = "not_begun"
"""What of a round a ceiling kept from beginning."""
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
    trials = bench.made.trials(wanted)
    tasks = bench.run.ledger.tasks({item.task_id for item in items})
    misfits = await _misfits(bench, items, trials, tasks)
    jobs: list[Job] = []
    for item in items:
        await asyncio.sleep(
            0
        )  # looking for places in long trajectories takes its time, and an interrupt must not wait
        jobs += _jobs(bench, item, trials, tasks, offer, yielded, done, misfits)
    bench.run.progress.step(sum(note.tried and not note.open for note in done))

    async def counted(job: Job) -> None:
        if not bench.run.may_start():
            bench.made.left.add(NOT_BEGUN)
            return
        await job()
        bench.run.progress.step(1)

    await bench.made.each(jobs, counted)


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
            bench.run, task, trials[identity], bench.patience, passes=passes
        )
        if reason is not None:
            found.add(identity)
            again = reason.removeprefix("fault:") in RETRIED_BY_A_RERUN
            bench.made.scores.append(
                Note("twin", item.task_id, identity, reason, bench.round, open=again).as_score(
                    identity
                )
            )
            bench.made.left |= {identity} if again else set()

    await bench.made.each(
        [
            partial(look, item, identity)
            for item in items
            for identity in (*item.twins, *item.failed)
        ],
        _done,
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
    planned, declined = planned_for(
        item,
        twins,
        bench.settings,
        offer,
        yielded,
        bench.player.seed,
        {int(key) for key in over if key.isdigit()},
        affordances=bench.able(task, "affordances"),
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
        bench.made.left.add(trial.trajectory_id)


async def _done(job: Job) -> None:
    await job()
