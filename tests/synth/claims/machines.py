"""Workers on machines of their own: their journals, their clocks, their looks at one ledger."""

import asyncio
import os
from pathlib import Path
from random import Random

from synth.claims import Lease, Leases
from synth.claims.slots import ClaimedSlots, PeerClaims
from synth.ledger import StageRef, StoredLedger
from synth.ledger.log.fencing import FENCE
from synth.schemas.flow import PlannedSlot
from tests.trajectories import make_trajectory

REF = StageRef("rollout", "key1")
TERM_S = 60.0


class Worker:
    """A worker on a machine of its own: its journals, its clock, its look at the ledger."""

    def __init__(self, url: str, machine: Path, clock_s: float = 0.0) -> None:
        os.environ["SYNTH_STATE_DIR"] = str(machine)
        self.ledger = StoredLedger(url, create=True)
        self.clock_s = clock_s
        self.said: list[str] = []
        self.leases = Leases(self.ledger, term_s=TERM_S, clock=lambda: self.clock_s)

    def hand(self, work: str = "w") -> ClaimedSlots:
        """What it is to hold of a shard that is claimed as a whole."""
        slot, others = PlannedSlot(work, "", 0, 0), PeerClaims(self.leases, term_s=0.0)
        return ClaimedSlots(self.leases, others, [slot], Random(0), self.said.append, whole=True)

    def lease(self, work: str = "w") -> Lease | None:
        """A claim on a piece of work, if it can be had."""
        hand = self.hand(work)
        asyncio.run(hand.begin(shared=False))
        return hand.held.get(work)

    def take(self, work: str = "w") -> int | None:
        """The number of the claim."""
        lease = self.lease(work)
        return None if lease is None else lease.number

    def commit(self, lease: Lease, name: str) -> None:
        before = FENCE.set(lease.holder)
        try:
            self.ledger.commit(REF, trajectories=[make_trajectory(name)])
        finally:
            FENCE.reset(before)

    def dies(self) -> None:
        """As a process that is killed: its lock falls, nothing is cleared away."""
        self.leases._over.set()
        if self.leases._worker is not None:
            os.close(self.leases._worker._lock)
            self.leases._worker = None


def settled(url: str) -> list[tuple[str, int]]:
    """Slots and attempts that were committed."""
    return sorted(
        (record.slot_id, record.attempt)
        for shard in StoredLedger(url).state.shards
        for record in shard.slots
    )
