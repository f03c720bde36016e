"""Workers whose requests to the storage are let through one at a time, in an order that a seed
draws; some freeze, some die.

Every request of every worker waits for its turn, so a worker may be overtaken between any two of
them: between its claim and its look at
the ledger, between the files of a commit and its line. Clocks run with a worker's own turns; who is
frozen gives no sign of life.
"""

import asyncio
import os
import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from synth.claims import Leases
from synth.claims.slots import ClaimedSlots, PeerClaims, still_open
from synth.ledger import StageRef, StoredLedger
from synth.ledger.log.fencing import FENCE
from synth.schemas.flow import PlannedSlot
from synth.schemas.trajectory import Trajectory
from tests.trajectories import make_trajectory

REF = StageRef("rollout", "key1")
TERM_S = 60.0
TURN_S = 1.0
REQUESTS = ("create", "read", "size", "replace", "discard")


class Killed(BaseException):
    """The worker is gone in the middle of what it did."""


class Turns:
    """Whose request goes next."""

    def __init__(self, seed: int, workers: int) -> None:
        self.rng = random.Random(seed)
        self._turn = threading.Condition()
        self._waiting: set[int] = set()
        self._left = set(range(workers))
        self._frozen: dict[int, int] = {}
        self._chosen: int | None = None

    def wait(self, worker: int) -> None:
        """Returns when it is this worker's turn; what it does until its next wait is done by nobody
        else meanwhile.
        """
        with self._turn:
            if self._chosen == worker:
                self._chosen = None
            self._waiting.add(worker)
            self._choose()
            self._turn.wait_for(lambda: self._chosen == worker)
            self._waiting.discard(worker)

    def leave(self, worker: int) -> None:
        """This worker asks for nothing any more."""
        with self._turn:
            self._left.discard(worker)
            if self._chosen == worker:
                self._chosen = None
            self._choose()

    def _choose(self) -> None:
        if self._chosen is not None or self._waiting != self._left or not self._left:
            return
        self._frozen = {
            worker: turns - 1
            for worker, turns in self._frozen.items()
            if turns > 1 and worker in self._left
        }
        if self.rng.random() < 0.01:
            self._frozen[self.rng.choice(sorted(self._left))] = self.rng.randrange(50, 400)
        awake = sorted(self._left - set(self._frozen)) or sorted(self._left)
        self._chosen = self.rng.choice(awake)
        self._turn.notify_all()


@dataclass
class Told:
    """What happened: under which holder each slot was committed, how often each was played, what
    workers raised.
    """

    committed_by: list[tuple[str, str]] = field(default_factory=list)
    played: list[str] = field(default_factory=list)
    died: int = 0
    errors: list[BaseException] = field(default_factory=list)


@dataclass
class Worker:
    """One of several on machines of their own."""

    number: int
    url: str
    slots: Sequence[PlannedSlot]
    turns: Turns
    told: Told
    mortal: bool
    clock_s: float = 0.0

    def run(self) -> None:
        """Until all slots are filled, or it dies."""
        try:
            asyncio.run(self._work())
        except Killed:
            self.told.died += 1
        except BaseException as error:  # noqa: BLE001 - shown by the test
            self.told.errors.append(error)
        finally:
            self.turns.leave(self.number)

    def open(self, machine: Path) -> None:
        """Opens the ledger, before any turns are taken."""
        os.environ["SYNTH_STATE_DIR"] = str(machine)
        self.rng = random.Random(self.number)
        self.ledger = StoredLedger(self.url, create=True)
        self.leases = Leases(self.ledger, term_s=TERM_S, clock=lambda: self.clock_s)
        self.leases._over.set()  # its signs of life are given by turns, too
        for name in REQUESTS:
            setattr(self.ledger.storage, name, self._by_turns(getattr(self.ledger.storage, name)))

    def _by_turns(self, request: Any) -> Any:
        def asked(*given: Any, **named: Any) -> Any:
            self.turns.wait(self.number)
            self.clock_s += TURN_S
            if self.mortal and self.turns.rng.random() < 0.005:
                raise Killed
            return request(*given, **named)

        return asked

    async def _work(self) -> None:
        others = PeerClaims(self.leases, term_s=0.0)
        while any(still_open(slot, self.ledger.refresh()) for slot in self.slots):
            self.leases.renew()
            hand = ClaimedSlots(self.leases, others, self.slots, self.rng, lambda line: None)
            if await hand.begin(shared=self.rng.random() < 0.7):
                with hand.watched():
                    await self._visit(hand)

    async def _visit(self, hand: ClaimedSlots) -> None:
        group: list[Trajectory] = []
        for slot in hand.in_order()[: self.rng.randrange(1, 5)]:

            async def episode(slot: PlannedSlot = slot) -> list[Trajectory]:
                self.told.played.append(slot.slot_id)
                self.leases.renew()
                await asyncio.sleep(0)
                return [make_trajectory(slot.slot_id)]

            group += await hand.play(slot.slot_id, episode)
            if self.rng.random() < 0.3:
                await self._commit(hand, group)
                group = []
        await self._commit(hand, group)

    async def _commit(self, hand: ClaimedSlots, group: list[Trajectory]) -> None:
        commit = self.ledger.commit

        def noted(ref: StageRef, *, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
            fence = FENCE.get()
            ended = commit(ref, trajectories=trajectories)
            assert fence is not None
            self.told.committed_by += [(trajectory.slot_id, fence) for trajectory in trajectories]
            return ended

        self.ledger.commit = noted  # type: ignore[method-assign, assignment]
        try:
            await hand.commit(REF, group)
        finally:
            self.ledger.commit = commit  # type: ignore[method-assign]


def interleaved(seed: int, folder: Path, *, workers: int = 3, slots: int = 6) -> Told:
    """What came of `slots` slots and so many workers, of whom all but the first may die."""
    turns, told = Turns(seed, workers), Told()
    planned = [PlannedSlot(f"slot{number}", "task", number, 0) for number in range(slots)]
    made = [
        Worker(number, str(folder / "run"), planned, turns, told, mortal=number > 0)
        for number in range(workers)
    ]
    for worker in made:
        worker.open(folder / f"machine{worker.number}")
    threads = [threading.Thread(target=worker.run, daemon=True) for worker in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads), "the workers wait for each other"
    return told
