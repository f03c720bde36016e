"""The episodes of one shard: journaled replies taken up again, new ones under the run's ceilings."""

from collections.abc import Sequence

from schemas.model import ChatModel
from schemas.trajectory import Trajectory
from synth.ledger.journal import Reply, recorded
from synth.models.admission import Admission
from synth.rollout.episode import Work
from synth.rollout.slots import fill_slots
from synth.run.context import Run


async def played(run: Run, shard: str, works: Sequence[Work], model: ChatModel | None, places: Admission) -> list[Trajectory]:
    """All attempts made at the slots, as many under way as there are places; slots that a ceiling kept from starting have none."""
    events, damage = recorded(run.ledger.journal_folder, {work.slot_id for work in works})
    for line in damage:
        run.progress.say(line)
    for event in (event for found in events.values() for event in found if isinstance(event, Reply)):
        run.progress.replayed(event.completion.usage)
    return await fill_slots(
        works,
        lambda work: run.world(work.task.env, work.task.env_config),
        model,
        run.journals[shard],
        events,
        live_episodes=places.limit,
        may_start=run.may_start,
        finished=run.progress.advance,
        turned=run.turned,
        faulted=run.faulted,
        spoke=run.spoke,
        places=places,
    )
