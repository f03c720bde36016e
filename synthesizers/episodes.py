"""The episodes of one shard: journaled replies taken up again, new ones under the run's
ceilings.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from synth.claims.slots import ClaimedSlots
from synth.engine.context import Run
from synth.engine.study.continuations import taken_up
from synth.ledger.ledger import StageRef
from synth.ledger.storage.journal import recorded
from synth.ledger.tables.row_validation import ended_line
from synth.models.admission import ConcurrencyLimit
from synth.rollout.episode import EpisodeSpec
from synth.rollout.slots import Fill, run_slots
from synth.schemas.model import ChatModel
from synth.schemas.trajectory import Trajectory
from synth.side_by_side import run_workers

COMMIT_EVERY_S = 300.0
"""A group that is not full by then is committed all the same: no more than what was begun since is
lost with its worker.
"""


async def played(
    run: Run,
    shard: str,
    works: Sequence[EpisodeSpec],
    model: ChatModel | None,
    places: ConcurrencyLimit,
    hand: ClaimedSlots | None = None,
    ended: Callable[[Sequence[Trajectory]], None] = lambda attempts: None,
) -> list[Trajectory]:
    """All attempts made at the slots, as many under way as there are places; slots that a ceiling
    kept from starting have none.

    With a `hand` those that other workers hold are left out, too. `ended` is told the attempts at
    each slot.
    """
    slots = {work.slot_id for work in works}
    events, damage = recorded(run.ledger.journal_folder, slots)
    gone = 0 if hand is None else len(hand.leases.gone_here)
    taken_up(run, events, damage)

    async def held(slot_id: str, fill: Fill) -> list[Trajectory]:
        async def fill_after_others() -> list[Trajectory]:
            nonlocal gone
            if hand is not None and gone != len(hand.leases.gone_here):
                gone = len(hand.leases.gone_here)
                events.update(recorded(run.ledger.journal_folder, slots)[0])
            return await fill()

        return await (fill() if hand is None else hand.play(slot_id, fill_after_others))

    def finished(attempts: Sequence[Trajectory]) -> None:
        run.progress.advance(attempts)
        ended(attempts)

    return await run_slots(
        works,
        lambda work: run.world(work.task.env, work.task.env_config),
        model,
        run.journals[shard],
        events,
        live_episodes=places.limit,
        host=run.host(),
        finished=finished,
        places=places,
        held=held,
    )


async def played_in_groups(
    run: Run,
    ref: StageRef,
    shard: str,
    works: Sequence[EpisodeSpec],
    model: ChatModel | None,
    places: ConcurrencyLimit,
) -> None:
    """Plays what of the slots no other worker has in hand; commits all of it together, and every
    few minutes what there is by then.
    """
    hand, group, over = run.hands[shard], list[Trajectory](), asyncio.Event()
    at = {work.slot_id: number for number, work in enumerate(works)}

    async def commit() -> None:
        attempts = sorted(group, key=lambda attempt: (at[attempt.slot_id], attempt.attempt))
        group.clear()
        for attempt in await hand.commit(ref, attempts):
            run.progress.say(ended_line(attempt))

    async def now_and_then() -> None:
        while not over.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), COMMIT_EVERY_S)
            await commit()
        await commit()  # what ended while that one took its time

    async def play() -> None:
        try:
            with hand.watched():
                await played(run, shard, works, model, places, hand, group.extend)
        finally:
            over.set()

    parts = iter((play, now_and_then))
    await run_workers(2, lambda: next(parts)())
