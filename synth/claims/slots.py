"""The episodes of one shard that this process has in hand: taken one by one, each as there is a
place for it, held until committed.

Nobody has more of a shard than it plays, so what a slow worker has not begun is free for whoever
comes by.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from synth.claims.claims import Claim, Lease, Leases, soon
from synth.ledger.ledger import StageRef
from synth.ledger.log.fencing import FENCE, FencedError
from synth.ledger.log.state import LedgerState
from synth.schemas.stage import PlannedSlot
from synth.schemas.trajectory import Trajectory
from synth.side_by_side import stops_alone

T = TypeVar("T")
LOOKS = 6
"""Episodes of a shard which others turn out to have, before the worker looks elsewhere."""
TOGETHER_S = 0.05
"""On an object store: episodes taken within this time are looked up in the ledger together."""


def still_open(planned: PlannedSlot, state: LedgerState) -> bool:
    """Whether nobody else has settled the slot, or tried it again, since it was planned."""
    slot = state.slots.get(planned.slot_id)
    return slot is None or (slot.valid is None and slot.attempts <= planned.first_attempt)


class PeerClaims:
    """The workers beside this one, as far as it knows: their claims, which of them are alive, and
    what they have committed.
    """

    def __init__(self, leases: Leases, *, term_s: float) -> None:
        self._leases, self._ledger = leases, leases.ledger
        self._believed_s = term_s / 8
        self._claims: dict[str, Claim] = {}
        self._alive: dict[str, float] = {}
        self._next: asyncio.Future[LedgerState] | None = None

    async def look(self) -> LedgerState:
        """The ledger's state after all that was committed before this call; looks wanted at the
        same moment are one.
        """
        if self._next is None:
            self._next = asyncio.ensure_future(self._soon())
        return await asyncio.shield(self._next)

    async def claim(self, slot_id: str) -> Lease | None:
        """A claim on a slot; None where one of another worker, that is not void, stands before
        it.
        """
        holder = self._leases.holder()
        found: Lease | Claim | None = self._claims.get(slot_id)
        if found is None:
            found = await self.asked(partial(self._leases.claim, slot_id, holder))

        while isinstance(found, Claim):
            self._claims[slot_id] = found
            if not self._void(found):
                return None
            del self._claims[slot_id]
            following = partial(self._leases.claim, slot_id, holder, found.number + 1)
            found = await self.asked(following)

        return found

    async def asked(self, request: Callable[[], T]) -> T:
        """What a request to the storage gives; the loop goes on meanwhile where that may be
        slow.
        """
        return request() if self._ledger.storage.local else await asyncio.to_thread(request)

    def _void(self, claim: Claim) -> bool:
        holder = "" if claim.record is None else claim.record.holder
        believed = time.monotonic() < self._alive.get(holder, 0)
        if believed and holder not in self._ledger.state.fences:
            return False
        if self._leases.void(claim):
            return True
        self._alive[holder] = time.monotonic() + self._believed_s
        return False

    async def _soon(self) -> LedgerState:
        await asyncio.sleep(0 if self._ledger.storage.local else TOGETHER_S)
        self._next = None
        return self._ledger.refresh()


class ClaimedSlots:
    """What this process holds of the `slots` of a shard. Not for several event loops."""

    def __init__(
        self,
        leases: Leases,
        others: PeerClaims,
        slots: Sequence[PlannedSlot],
        rng: random.Random,
        say: Callable[[str], None],
    ) -> None:
        self.leases, self._others, self._rng, self._say = leases, others, rng, say
        self._slots = {slot.slot_id: slot for slot in slots}
        self._order = list(slots)
        self._held: dict[str, Lease] = {}
        self._playing: dict[str, asyncio.Future[Any]] = {}
        self._reclaiming = asyncio.Lock()
        self._untried: set[str] = set()
        self._missed = 0
        self.tried = asyncio.Event()
        """Nothing of the shard is left to be taken: what is under way here is all that there is."""

    async def begin(self, *, shared: bool) -> bool:
        """Takes a first episode; False where there is none to take. Of a shard that others are at
        (`shared`) any, else only the first.
        """
        state = self.leases.ledger.refresh()
        self._order = [slot for slot in self._order if still_open(slot, state)]
        if shared and len(self._order) > 1:
            # from behind, where who began it comes last, and not where the next one does
            at = self._rng.randrange(len(self._order))
            self._order = [*self._order[at::-1], *self._order[:at:-1]]

        for slot in self._order[: LOOKS if shared else 1]:
            if await self._take(slot.slot_id):
                return True

        return False

    def in_order(self) -> list[PlannedSlot]:
        """The slots that were open when it began, as they are to be played: first what was taken
        first.
        """
        self._untried = {slot.slot_id for slot in self._order}
        return sorted(self._order, key=lambda slot: slot.slot_id not in self._held)

    async def play(self, slot_id: str, episode: Callable[[], Awaitable[list[T]]]) -> list[T]:
        """What `episode()` gives, if it can be taken, and is not lost meanwhile; else nothing."""
        taken = (slot_id in self._held or self._missed < LOOKS) and await self._take(slot_id)
        self._missed = 0 if taken else self._missed + 1
        self._untried.discard(slot_id)
        if not self._untried:
            self.tried.set()
        if not taken:
            return []

        async def alone() -> list[T]:
            stops_alone()
            return await episode()

        task = asyncio.ensure_future(alone())
        self._playing[slot_id] = task

        try:
            return await task
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if slot_id not in self._held and (this is None or not this.cancelling()):
                return []
            raise
        finally:
            del self._playing[slot_id]

    async def commit(self, ref: StageRef, attempts: Sequence[Trajectory]) -> list[Trajectory]:
        """Commits what is still held of the `attempts`, as `Ledger.commit` does."""
        while True:
            await self.reclaim()
            kept = [attempt for attempt in attempts if attempt.slot_id in self._held]
            if not kept:
                return []
            before = FENCE.set(self._held[kept[0].slot_id].holder)
            try:
                ended = self.leases.ledger.commit(ref, trajectories=kept)
            except FencedError:  # declared dead: what nobody has taken since is claimed again
                continue
            finally:
                FENCE.reset(before)
            done = [self._held.pop(one) for one in dict.fromkeys(a.slot_id for a in kept)]
            await self._others.asked(partial(self.leases.discard, done))
            return ended

    def give_back(self) -> None:
        """Ends its claims on what was not played to its end."""
        while self._held:
            self.leases.give_back(self._held.popitem()[1])

    async def reclaim(self) -> None:
        """After this process was declared dead: claims again what it had in hand; what others have
        taken meanwhile is dropped.
        """
        async with self._reclaiming:
            holder, lost = self.leases.holder(), 0
            for slot_id, lease in list(self._held.items()):
                if lease.holder == holder:
                    continue
                claim = partial(self.leases.claim, slot_id, holder, lease.number + 1)
                again = await self._others.asked(claim)
                state = await self._others.look()
                if isinstance(again, Lease) and still_open(self._slots[slot_id], state):
                    self._held[slot_id] = again
                    continue
                lost += 1
                del self._held[slot_id]
                if slot_id in self._playing:
                    self._playing[slot_id].cancel()
            if lost:
                self._say(
                    f"this process was silent for so long that others took {lost} of its episodes "
                    "over; its own tries are dropped"
                )

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Meanwhile `reclaim` is called as soon as this process sees that it was declared dead."""
        loop, under_way = asyncio.get_running_loop(), set[asyncio.Future[None]]()

        def lost() -> None:
            soon(loop, lambda: under_way.add(asyncio.ensure_future(self.reclaim())))

        self.leases.watchers.add(lost)
        try:
            yield
        finally:
            self.leases.watchers.discard(lost)

    async def _take(self, slot_id: str) -> bool:
        units = self.leases.units
        open_here = still_open(self._slots[slot_id], self.leases.ledger.state)
        if slot_id not in self._held and units.left() and open_here:
            units.claimed += 1
            found = await self._others.claim(slot_id)
            if found is not None and still_open(self._slots[slot_id], await self._others.look()):
                self._held[slot_id] = found
                await self.reclaim()
            units.claimed -= slot_id not in self._held
        return slot_id in self._held
