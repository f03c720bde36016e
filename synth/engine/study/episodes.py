"""Plays the episodes of one shard: each slot once, whoever needs it, unless the ledger or a journal
has it.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import chain

import msgspec

from synth.engine.context import Run
from synth.engine.study.player import Player
from synth.ledger.ledger import StageRef
from synth.ledger.storage.journal import Event, JournaledReply, recorded
from synth.ledger.tables.row_validation import ended_line
from synth.rollout.episode import EpisodeSpec
from synth.rollout.slots import RETRIED_BY_A_RERUN, Fill, no_claim, run_slots
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Trajectory
from synth.side_by_side import run_workers

Held = Callable[[str, Fill], Awaitable[list[Trajectory]]]
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


class ShardEpisodes:
    """The slots of one shard. A reply that an interrupted run of the shard has journaled is not
    asked for again.
    """

    def __init__(self, run: Run, shard: str) -> None:
        self.run = run
        self._shard = shard
        self._journal = run.journals[shard]
        self._events: dict[tuple[str, int], list[Event]] = {}
        self._has_own_events = False
        self._known: dict[str, Continuation] = {}
        self._read: dict[str, Continuation] = {}
        self._state_locks: defaultdict[tuple[str, int], asyncio.Lock] = defaultdict(asyncio.Lock)

    def at(self, trajectory_id: str, turn: int) -> asyncio.Lock:
        """A lock on a state: tests of one state share continuations, so they go one after the
        other.
        """
        return self._state_locks[(trajectory_id, turn)]

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
        for attempt in attempts:  # in order: the last attempt at a slot stands
            self._known[attempt.slot_id] = _came_to(attempt)

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
        slots = {spec.slot_id for spec in specs}
        if shown:
            self._take_up(*recorded(run.ledger.journal_folder, slots))
        elif not self._has_own_events:
            self._take_up(*recorded(self._journal.path))
            self._has_own_events = True

        def finished(attempts: Sequence[Trajectory]) -> None:
            if shown:
                run.progress.advance(attempts)
            ended(attempts)

        return await run_slots(
            specs,
            lambda spec: run.world(spec.task.env, spec.task.env_config),
            player.role.model,
            self._journal,
            self._events,
            live_episodes=player.places.limit,
            host=run.host(),
            finished=finished,
            places=player.places,
            held=self._claims(slots),
        )

    def _claims(self, slots: set[str]) -> Held:
        """Claims a slot before it is filled, where workers share the shard."""
        hand = self.run.hands.get(self._shard)
        if hand is None:
            return no_claim

        gone = len(hand.leases.gone_here)

        async def claimed(slot_id: str, fill: Fill) -> list[Trajectory]:
            async def fill_after_others() -> list[Trajectory]:
                nonlocal gone
                if gone != len(hand.leases.gone_here):  # a worker died, and left a journal
                    gone = len(hand.leases.gone_here)
                    self._events.update(recorded(self.run.ledger.journal_folder, slots)[0])
                return await fill()

            return await hand.play(slot_id, fill_after_others)

        return claimed

    async def played_in_groups(
        self, ref: StageRef, specs: Sequence[EpisodeSpec], player: Player
    ) -> None:
        """Plays the slots that no other worker has claimed; commits them together, and every few
        minutes those that have ended.
        """

        hand = self.run.hands[self._shard]
        group = list[Trajectory]()
        over = asyncio.Event()
        at = {spec.slot_id: number for number, spec in enumerate(specs)}

        async def commit() -> None:
            attempts = sorted(
                group,
                key=lambda attempt: (at[attempt.slot_id], attempt.attempt),
            )
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
                with hand.watched():
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
        new = {at: events for at, events in journaled.items() if at not in self._events}
        self._events.update(journaled)
        for line in damage:
            self.run.progress.say(line)
        for event in chain.from_iterable(new.values()):
            if isinstance(event, JournaledReply):
                self.run.progress.replayed(event.completion.usage)

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

        slot = self.run.ledger.state.slots.get(slot_id)
        if slot is None:
            return None
        if slot.valid is None:
            lost = Continuation(fault=slot.last_fault)
            return None if lost.open else lost
        return self._committed(slot.valid.trajectory_id)

    def _committed(self, identity: str) -> Continuation:
        """The result of a committed trajectory; it reads the whole shard at once, since the others
        that are needed are in it too.
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
                name, outcome, weights = (row[column] for column in columns)
                self._read[name] = Continuation(name, Outcome(outcome), weights)
        return self._read[identity]


def _came_to(attempt: Trajectory) -> Continuation:
    """The result of an attempt."""
    if attempt.fault is not None:
        return Continuation(fault=attempt.fault)
    return Continuation(attempt.trajectory_id, attempt.outcome, attempt.weights_id)
