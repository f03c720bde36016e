"""The episodes of one shard: journaled replies taken up again, new ones under the run's ceilings."""

from collections.abc import Sequence

from schemas.model import ChatModel
from schemas.trajectory import Trajectory
from synth.ledger.journal import recorded
from synth.rollout.episode import Work
from synth.rollout.slots import fill_slots
from synth.run.context import Run


async def played(run: Run, shard: str, works: Sequence[Work], model: ChatModel | None, live: int) -> list[Trajectory]:
    """All attempts made at the slots, at most `live` under way at a time; slots that a ceiling kept from starting have none."""
    events, damage = recorded(run.ledger.journal_folder, {work.slot_id for work in works})
    for line in damage:
        run.progress.say(line)

    def may_start() -> bool:
        run.stopped = run.stopped or run.budget.exhausted()
        return run.stopped is None

    def finished(attempts: Sequence[Trajectory]) -> None:
        for trajectory in attempts:
            run.budget.add(trajectory.totals)
        run.progress.advance(attempts)

    return await fill_slots(
        works,
        lambda work: run.world(work.task.env, work.task.env_config),
        model,
        run.journals[shard],
        events,
        live_episodes=live,
        may_start=may_start,
        finished=finished,
    )
