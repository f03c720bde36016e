"""Continuations from states of one shard: each slot is filled once, whoever needs it, and found
where the ledger has it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec

from synth.engine.context import Run
from synth.ledger.storage.journal import Event, JournaledReply, recorded
from synth.models.admission import ConcurrencyLimit
from synth.rollout.episode import EpisodeSpec
from synth.rollout.slots import RETRIED_BY_A_RERUN, run_slots
from synth.schemas.model import ChatModel
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Trajectory


class Continuation(msgspec.Struct, frozen=True):
    """What a slot came to: a valid attempt, with its outcome; or the fault of the last one; or
    neither where none was started.
    """

    trajectory_id: str | None = None
    outcome: Outcome | None = None
    weights_id: str | None = None
    fault: str | None = None

    @property
    def open(self) -> bool:
        """Whether a rerun would play it."""
        return self.trajectory_id is None and (
            self.fault is None or self.fault in RETRIED_BY_A_RERUN
        )


def taken_up(run: Run, journaled: Mapping[Any, Iterable[Event]], damage: Iterable[str]) -> None:
    """Tells of what an interrupted try has journaled: replies that are not asked for again."""
    for line in damage:
        run.progress.say(line)
    for event in chain.from_iterable(journaled.values()):
        if isinstance(event, JournaledReply):
            run.progress.replayed(event.completion.usage)


class Continuations:
    """The slots of one shard that continue recorded trajectories. What an interrupted try at the
    shard was told is not asked again.
    """

    def __init__(self, run: Run, shard: str) -> None:
        self.run = run
        self._journal = run.journals[shard]
        self._events, damage = recorded(self._journal.path)
        taken_up(run, self._events, damage)
        self._known: dict[str, Continuation] = {}
        self._read: dict[str, Continuation] = {}
        self._state_locks: defaultdict[tuple[str, int], asyncio.Lock] = defaultdict(asyncio.Lock)

    def at(self, trajectory_id: str, turn: int) -> asyncio.Lock:
        """Held while a state is tested: tests of one state share continuations, so they go one
        after the other.
        """
        return self._state_locks[(trajectory_id, turn)]

    async def filled(
        self, works: Sequence[EpisodeSpec], model: ChatModel | None, places: ConcurrencyLimit
    ) -> tuple[list[Continuation], list[Trajectory]]:
        """What the slots came to, in the order of `works`, and the attempts that were made for it,
        to be committed.
        """
        todo = []
        for work in {work.slot_id: work for work in works}.values():
            known = self._known.get(work.slot_id) or self._in_ledger(work.slot_id)
            if known is None:
                slot = self.run.ledger.state.slots.get(work.slot_id)
                todo.append(
                    work
                    if slot is None
                    else msgspec.structs.replace(work, first_attempt=slot.attempts)
                )
            else:
                self._known[work.slot_id] = known
        attempts = await self.played(todo, model, places) if todo else []
        for attempt in attempts:  # in order: the last attempt at a slot stands
            self._known[attempt.slot_id] = _came_to(attempt)
        return [self._known.get(work.slot_id, Continuation()) for work in works], attempts

    async def played(
        self, works: Sequence[EpisodeSpec], model: ChatModel | None, places: ConcurrencyLimit
    ) -> list[Trajectory]:
        """All attempts made at the slots, in their order; a slot that a ceiling kept from starting
        has none.
        """
        run = self.run
        return await run_slots(
            works,
            lambda work: run.world(work.task.env, work.task.env_config),
            model,
            self._journal,
            self._events,
            live_episodes=places.limit,
            host=run.host(),
            places=places,
        )

    def _in_ledger(self, slot_id: str) -> Continuation | None:
        """What was committed for a slot; None where it is still to be filled, by another attempt if
        need be.
        """
        slot = self.run.ledger.state.slots.get(slot_id)
        if slot is None:
            return None
        if slot.valid is None:
            lost = Continuation(fault=slot.last_fault)
            return None if lost.open else lost
        identity = slot.valid.trajectory_id
        return self._committed(identity)

    def _committed(self, identity: str) -> Continuation:
        """What a committed trajectory came to; its whole shard is remembered, the others that are
        needed are in it too.
        """
        if identity not in self._read:
            ledger = self.run.ledger
            shard = next(
                shard
                for shard in ledger.state.shards
                if any(record.trajectory_id == identity for record in shard.slots)
            )
            columns = ["trajectory_id", "outcome", "weights_id"]
            for row in ledger.files.table(shard.files["trajectories"]).select(columns).to_pylist():
                found = Continuation(
                    row["trajectory_id"], Outcome(row["outcome"]), row["weights_id"]
                )
                self._read[row["trajectory_id"]] = found
        return self._read[identity]


def _came_to(attempt: Trajectory) -> Continuation:
    if attempt.fault is not None:
        return Continuation(fault=attempt.fault)
    return Continuation(attempt.trajectory_id, attempt.outcome, attempt.weights_id)
