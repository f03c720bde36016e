"""Plays the episodes of one shard: each slot once, whoever needs it, unless the ledger or a journal
has it.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec

from synth.engine.context import Run
from synth.engine.study.player import Player
from synth.ledger import StageRef
from synth.ledger.storage.journal import Event, JournaledReply, recorded
from synth.ledger.tables.row_validation import ended_line
from synth.rollout.episode import EpisodeSpec
from synth.rollout.slots import RETRIED_BY_A_RERUN, Fill, no_claim, run_slots
from synth.schemas import Outcome, Trajectory
from synth.side_by_side import run_workers

COMMIT_EVERY_S = 300.0
"""A group of episodes is committed by then even if it is not full, so that a worker that dies loses
no more.
"""


class Continuation(msgspec.Struct, frozen=True):
    """The result of a slot: a valid attempt with its outcome, or the fault of the last one, or
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


class Attempts(msgspec.Struct, frozen=True):
    """All attempts at a slot, of which the last one counts; `known`: the ledger had it before."""

    made: Sequence[Trajectory]
    known: bool


@dataclass
class ShardEpisodes:
    """The slots of one shard. A reply that an interrupted run of the shard has journaled is not
    asked for again.
    """

    run: Run
    shard: str
    _events: dict[tuple[str, int], list[Event]] = field(default_factory=dict)
    _has_own_events: bool = False
    _known: dict[str, Continuation] = field(default_factory=dict)
    _committed: dict[str, Continuation] = field(default_factory=dict)
    _state_locks: dict[tuple[str, int], asyncio.Lock] = field(default_factory=dict)

    def at(self, trajectory_id: str, turn: int) -> asyncio.Lock:
        """A lock on a state: tests of one state share continuations, so they go one after the
        other.
        """
        return self._state_locks.setdefault((trajectory_id, turn), asyncio.Lock())

    async def filled(
        self, specs: Sequence[EpisodeSpec], player: Player
    ) -> tuple[list[Continuation], list[Trajectory]]:
        """(continuations in the order of `specs`, the new attempts to be committed)."""
        todo = []

        for spec in {spec.slot_id: spec for spec in specs}.values():
            known = self._known.get(spec.slot_id) or self._in_ledger(spec.slot_id)
            if known is None:
                todo.append(self._numbered(spec))
            else:
                self._known[spec.slot_id] = known

        attempts = await self.played(todo, player) if todo else []

        for one in attempts:  # in order: the last attempt at a slot stands
            valid = Continuation(one.trajectory_id, one.outcome, one.weights_id)
            self._known[one.slot_id] = valid if one.fault is None else Continuation(fault=one.fault)

        return [self._known.get(spec.slot_id, Continuation()) for spec in specs], attempts

    async def attempted(
        self,
        specs: Iterable[EpisodeSpec],
        player: Player,
        *,
        shown: bool = True,
    ) -> dict[str, Attempts]:
        """All attempts at slots, from the ledger where it has them; slots that a ceiling kept from
        starting are left out.
        """
        ledger = self.run.ledger
        found = dict[str, Attempts]()
        todo = list[EpisodeSpec]()

        for spec in specs:
            slot = ledger.state.slots.get(spec.slot_id)
            if slot is None or slot.valid is None:
                todo.append(self._numbered(spec))
            else:
                known = ledger.trajectory(slot.valid.trajectory_id)
                found[spec.slot_id] = Attempts([known], known=True)

        made: defaultdict[str, list[Trajectory]] = defaultdict(list)
        for attempt in await self.played(todo, player, shown=shown) if todo else ():
            made[attempt.slot_id].append(attempt)

        return found | {slot: Attempts(attempts, known=False) for slot, attempts in made.items()}

    async def played(
        self,
        specs: Sequence[EpisodeSpec],
        player: Player,
        *,
        shown: bool = False,
        ended: Callable[[Sequence[Trajectory]], None] = lambda attempts: None,
    ) -> list[Trajectory]:
        """All attempts at slots, in their order; those that a ceiling stops, or that another worker
        holds, have none. `shown` ones count in the progress, and continue from the journal of any
        worker of this machine. `ended` receives the attempts at each slot.
        """
        run = self.run
        journal = run.journals[self.shard]
        slots = {spec.slot_id for spec in specs}

        if shown:
            self._take_up(*recorded(run.ledger.journal_folder, slots))
        elif not self._has_own_events:
            self._take_up(*recorded(journal.path))
            self._has_own_events = True

        def finished(attempts: Sequence[Trajectory]) -> None:
            if shown:
                run.progress.advance(attempts)
            ended(attempts)

        return await run_slots(
            specs,
            lambda spec: run.world(spec.task.env, spec.task.env_config),
            player.role.model,
            journal,
            self._events,
            live_episodes=player.places.limit,
            host=run.host(),
            finished=finished,
            places=player.places,
            held=self._claims(slots),
        )

    def _claims(self, slots: set[str]) -> Callable[[str, Fill], Awaitable[list[Trajectory]]]:
        """Claims a slot before it is filled, where workers share the shard."""
        hand = self.run.hands.get(self.shard)
        if hand is None:
            return no_claim

        gone = set(hand.leases.gone_here)

        async def after_others(fill: Fill) -> list[Trajectory]:
            if new := hand.leases.gone_here - gone:  # a worker died, and left a journal
                gone.update(new)
                self._events.update(recorded(self.run.ledger.journal_folder, slots)[0])
            return await fill()

        async def claimed(slot_id: str, fill: Fill) -> list[Trajectory]:
            return await hand.play(slot_id, partial(after_others, fill))

        return claimed

    async def played_in_groups(
        self, ref: StageRef, specs: Sequence[EpisodeSpec], player: Player
    ) -> None:
        """Plays the slots that no other worker has claimed; commits them together, and every few
        minutes those that have ended.
        """
        hand = self.run.hands[self.shard]
        group = list[Trajectory]()
        over = asyncio.Event()
        at = {spec.slot_id: number for number, spec in enumerate(specs)}

        async def commit() -> None:
            attempts = sorted(group, key=lambda attempt: (at[attempt.slot_id], attempt.attempt))
            group.clear()

            for attempt in await hand.commit(ref, attempts):
                self.run.progress.say(ended_line(attempt))

        async def now_and_then() -> None:
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(over.wait(), COMMIT_EVERY_S)
                await commit()
            await commit()  # what ended while that one took its time

        async def play() -> None:
            try:
                await self.played(specs, player, shown=True, ended=group.extend)
            finally:
                over.set()

        # a fault of either ends the other
        parts = iter((play, now_and_then))
        await run_workers(2, lambda: next(parts)())

    def _take_up(
        self,
        journaled: Mapping[tuple[str, int], list[Event]],
        damage: Iterable[str],
    ) -> None:
        """Reuses the journal of an interrupted run: its replies are not asked for again."""
        progress = self.run.progress
        for line in damage:
            progress.say(line)

        for at in journaled.keys() - self._events.keys():
            for event in journaled[at]:
                if isinstance(event, JournaledReply):
                    progress.replayed(event.completion.usage)

        self._events.update(journaled)

    def _numbered(self, spec: EpisodeSpec) -> EpisodeSpec:
        """Numbers the next attempt at a slot, so that no verdict on a lost attempt is taken for one
        on it.
        """
        number = self.run.ledger.state.next_attempt(spec.slot_id)
        return msgspec.structs.replace(spec, first_attempt=number)

    def _in_ledger(self, slot_id: str) -> Continuation | None:
        """The committed result of a slot; None where it is still to be filled, by another attempt
        if need be.
        """
        ledger = self.run.ledger
        slot = ledger.state.slots.get(slot_id)
        if slot is None:
            return None

        if slot.valid is None:
            lost = Continuation(fault=slot.last_fault)
            return None if lost.open else lost

        if slot.valid.trajectory_id not in self._committed:
            # the others of the shard are needed too, so it is read once
            shard = next(one for one in ledger.state.shards if slot.valid in one.slots)
            columns = list(Continuation.__struct_fields__)

            for row in ledger.files.table(shard.files["trajectories"], columns).to_pylist():
                self._committed[row["trajectory_id"]] = msgspec.convert(row, Continuation)

        return self._committed[slot.valid.trajectory_id]
