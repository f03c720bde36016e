"""What this process has in hand of one shard: its episodes one by one, each as there is a place for
it, held until committed; or the shard as a whole.

Nobody has more of a shard than it plays, so what a slow worker has not begun is free for whoever
comes by.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, TypeVar

from synth.claims.claims import Claim, Lease, Leases
from synth.ledger import StageRef
from synth.ledger.log.fencing import FENCE, FencedError
from synth.ledger.log.state import LedgerState
from synth.schemas import PlannedSlot, Trajectory
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


@dataclass(eq=False)
class PeerClaims:
    """The workers beside this one, as far as it knows: their claims, which of them are alive (it
    believes so for an eighth of the term), and what they have committed.
    """

    leases: Leases
    _: KW_ONLY
    term_s: float
    _claims: dict[str, Claim] = field(default_factory=dict)
    _alive: dict[str, float] = field(default_factory=dict)
    _next: asyncio.Future[LedgerState] | None = None

    async def look(self) -> LedgerState:
        """The ledger's state after all that was committed before this call; looks wanted at the
        same moment are one.
        """
        if self._next is None:
            self._next = asyncio.ensure_future(self._soon())
        return await asyncio.shield(self._next)

    async def claim(self, slot_id: str, *, anew: bool = False) -> Lease | None:
        """A claim on a slot; None where one of another worker, that is not void, stands before
        it. One that was seen before is looked at `anew` where it may have been given back.
        """
        claim, holder = self.leases.claim, self.leases.holder()
        seen = self._claims.pop(slot_id, None)
        found: Lease | Claim | None = None if anew else seen
        found = found or await self.asked(partial(claim, slot_id, holder))

        while isinstance(found, Claim):
            if not self._void(found):
                self._claims[slot_id] = found
                return None
            found = await self.asked(partial(claim, slot_id, holder, found.number + 1))

        return found

    async def asked(self, request: Callable[[], T]) -> T:
        """What a request to the storage gives; the loop goes on meanwhile where that may be
        slow.
        """
        local = self.leases.ledger.storage.local
        return request() if local else await asyncio.to_thread(request)

    def _void(self, claim: Claim) -> bool:
        holder = "" if claim.record is None else claim.record.holder
        released = claim.record is not None and claim.record.released
        believed = not released and time.monotonic() < self._alive.get(holder, 0)
        if believed and holder not in self.leases.ledger.state.fences:
            return False
        if self.leases.void(claim):
            return True
        self._alive[holder] = time.monotonic() + self.term_s / 8
        return False

    async def _soon(self) -> LedgerState:
        await asyncio.sleep(0 if self.leases.ledger.storage.local else TOGETHER_S)
        self._next = None
        return self.leases.ledger.refresh()


@dataclass(eq=False)
class ClaimedSlots:
    """What this process holds of the `slots` of a shard, of which one may stand for the `whole` of
    it. Not for several event loops.
    """

    leases: Leases
    others: PeerClaims
    slots: Sequence[PlannedSlot]
    rng: random.Random
    say: Callable[[str], None]
    whole: bool = False
    held: dict[str, Lease] = field(default_factory=dict)
    tried: asyncio.Event = field(default_factory=asyncio.Event)
    """Nothing of the shard is left to be taken: what is under way here is all that there is."""
    _playing: dict[str, asyncio.Future[Any]] = field(default_factory=dict)
    _reclaiming: asyncio.Lock = field(default_factory=asyncio.Lock)
    _untried: set[str] = field(default_factory=set)
    _missed: int = 0

    def __post_init__(self) -> None:
        self.pieces = "shards" if self.whole else "episodes"
        self._planned = {slot.slot_id: slot for slot in self.slots}

    async def begin(self, *, shared: bool) -> bool:
        """Takes a first episode; False where there is none to take. Of a shard that others are at
        (`shared`) any, else only the first.
        """
        state = self.leases.ledger.refresh()
        self.slots = [slot for slot in self.slots if still_open(slot, state)]
        if shared and len(self.slots) > 1:
            # from behind, where who began it comes last, and not where the next one does
            at = self.rng.randrange(len(self.slots))
            self.slots = [*self.slots[at::-1], *self.slots[:at:-1]]

        for slot in self.slots[: LOOKS if shared else 1]:
            if await self._take(slot.slot_id):
                return True

        return False

    def in_order(self) -> list[PlannedSlot]:
        """The slots that were open when it began, as they are to be played: first what was taken
        first.
        """
        self._untried = {slot.slot_id for slot in self.slots}
        return sorted(self.slots, key=lambda slot: slot.slot_id not in self.held)

    async def play(self, slot_id: str, episode: Callable[[], Awaitable[list[T]]]) -> list[T]:
        """What `episode()` gives, if it can be taken, and is not lost meanwhile; else nothing."""
        taken = (slot_id in self.held or self._missed < LOOKS) and await self._take(slot_id)
        self._missed = 0 if taken else self._missed + 1
        self._untried.discard(slot_id)
        if not self._untried:
            self.tried.set()
        return await self.under_claim(slot_id, episode) or [] if taken else []

    async def under_claim(self, slot_id: str, job: Callable[[], Awaitable[T]]) -> T | None:
        """What `job()` gives, whose commits are refused once this process is declared dead; None
        where the claim was lost meanwhile.
        """
        holder = self.held[slot_id].holder

        async def alone() -> T:
            stops_alone()
            FENCE.set(holder)
            return await job()

        task = asyncio.ensure_future(alone())
        self._playing[slot_id] = task

        try:
            return await task
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if slot_id not in self.held and (this is None or not this.cancelling()):
                return None
            raise
        except FencedError:
            await self.reclaim()
            return None
        finally:
            del self._playing[slot_id]

    async def commit(self, ref: StageRef, attempts: Sequence[Trajectory]) -> list[Trajectory]:
        """Commits what is still held of the `attempts`, as `StoredLedger.commit` does."""
        while True:
            await self.reclaim()
            kept = [attempt for attempt in attempts if attempt.slot_id in self.held]
            if not kept:
                return []
            before = FENCE.set(self.held[kept[0].slot_id].holder)
            try:
                ended = self.leases.ledger.commit(ref, trajectories=kept)
            except FencedError:  # declared dead: what nobody has taken since is claimed again
                continue
            finally:
                FENCE.reset(before)
            done = [self.held.pop(one) for one in dict.fromkeys(a.slot_id for a in kept)]
            await self.others.asked(partial(self.leases.discard, done))
            return ended

    def give_back(self) -> None:
        """Ends its claims on what was not played to its end."""
        while self.held:
            self.leases.give_back(self.held.popitem()[1])

    async def reclaim(self) -> None:
        """After this process was declared dead: claims again what it had in hand; what others have
        taken meanwhile is dropped, and so is a whole shard, whose commits would be refused.
        """
        async with self._reclaiming:
            holder, lost = self.leases.holder(), 0
            for slot_id, lease in list(self.held.items()):
                if lease.holder == holder:
                    continue
                claim = partial(self.leases.claim, slot_id, holder, lease.number + 1)
                again = None if self.whole else await self.others.asked(claim)
                state = await self.others.look()
                if isinstance(again, Lease) and still_open(self._planned[slot_id], state):
                    self.held[slot_id] = again
                    continue
                lost += 1
                del self.held[slot_id]
                if slot_id in self._playing:
                    self._playing[slot_id].cancel()
            if lost:
                self.say(
                    f"this process was silent for so long that others took {lost} of its "
                    f"{self.pieces} over; its own tries are dropped"
                )

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Meanwhile `reclaim` is called as soon as this process sees that it was declared dead."""
        loop, under_way = asyncio.get_running_loop(), set[asyncio.Future[None]]()

        def lost() -> None:
            _soon(loop, lambda: under_way.add(asyncio.ensure_future(self.reclaim())))

        self.leases.watchers.add(lost)
        try:
            yield
        finally:
            self.leases.watchers.discard(lost)

    async def _take(self, slot_id: str) -> bool:
        units = self.leases.units
        slot = self._planned[slot_id]
        open_here = still_open(slot, self.leases.ledger.state)
        if slot_id not in self.held and units.left() and open_here:
            units.claimed += 1
            # no commit settles a whole shard: that it is free again is said by its claim alone
            found = await self.others.claim(slot_id, anew=self.whole)
            if found is not None and still_open(slot, await self.others.look()):
                self.held[slot_id] = found
                await self.reclaim()
            units.claimed -= slot_id not in self.held
        return slot_id in self.held


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    """Has something called in a loop from any thread; not at all once the loop is closed, because
    its work is over.
    """
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(call)
