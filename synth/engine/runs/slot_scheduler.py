"""A stage's shards are claimed by this process in their order, and by whoever is through with what
nobody else had begun: slot by slot, so that several workers may be at one shard, or as a whole.
"""

import asyncio
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from synth.claims.slots import ClaimedSlots, PeerClaims, still_open
from synth.engine.context import Run
from synth.engine.cost import spent
from synth.ledger import StageRef, StoredLedger
from synth.ledger.storage.journal import free_journal
from synth.schemas import Plan, PlannedSlot, Shard, Stage
from synth.side_by_side import run_workers

WAIT_S, LONGEST_WAIT_S = 0.5, 20.0


def longer(wait_s: float, ledger: StoredLedger) -> float:
    """How long to wait after a wait in vain: on an object store each look costs requests."""
    return wait_s if ledger.storage.local else min(LONGEST_WAIT_S, 1.5 * wait_s)


async def do_shards(run: Run, stage: Stage[Run], ref: StageRef, plan: Plan) -> None:
    """Does what no other worker has in hand, until all of the plan is tried.

    Shards are done in their order, those that others are at last. After one of these it goes on
    with any of the rest, so that workers that began together part. Where shards are done one at a
    time, a later one may rest on an earlier one, and none is begun before it.
    """
    todo = _Todo(run, stage, ref, plan, deque(plan.shards))
    await run_workers(min(plan.at_once, len(plan.shards)), todo.worker)

    units = run.leases.units
    if not units.left() and any(map(todo.has_open, (*todo.fresh, *todo.shared))):
        run.stopped = run.stopped or units.spent()


@dataclass
class _Todo:
    """What is left of a plan: shards that nobody had begun as far as is known, and those that
    others are at.
    """

    run: Run
    stage: Stage[Run]
    ref: StageRef
    plan: Plan
    fresh: deque[Shard]
    shared: list[Shard] = field(default_factory=list)

    def __post_init__(self) -> None:
        leases = self.run.leases
        self._others = PeerClaims(leases, term_s=self.run.flow.lease_s)
        self._rng = random.Random(leases.holder())

    async def worker(self) -> None:
        """Claims one shard after the other, and has each visited."""
        run, by_slot = self.run, self.plan.by_slot
        visits, wait_s = set[asyncio.Task[None]](), WAIT_S

        async with asyncio.TaskGroup() as group:
            # a ceiling stops new episodes; other work goes on until one of its questions meets it
            while (run.may_start() if by_slot else not run.stopped) and run.leases.units.left():
                visits = {task for task in visits if not task.done()}
                if not self.fresh and not self.shared:
                    if not visits:
                        return
                    await asyncio.wait(visits, return_when=asyncio.FIRST_COMPLETED)
                    continue

                first = bool(self.fresh)
                at = self._rng.randrange(len(self.shared)) if not first else 0
                shard = self.fresh.popleft() if first else self.shared.pop(at)
                if not self.has_open(shard):
                    continue

                hand = self._hand(shard)
                if await hand.begin(shared=not first):
                    visits.add(group.create_task(self._visit(shard, hand)))
                    # what is under way there keeps nobody from what is free elsewhere
                    await hand.tried.wait()
                    wait_s = WAIT_S
                    continue

                self._later(shard)
                if first and not self._ordered:
                    self.fresh.rotate(self._rng.randrange(1 + len(self.fresh)))
                    continue

                self._say(
                    f"others work on this run; waiting for their {hand.pieces}, or for a silence "
                    f"of {run.flow.lease_s:g} s"
                )
                await asyncio.sleep(wait_s)
                wait_s = longer(wait_s, run.ledger)

    @property
    def _ordered(self) -> bool:
        """Whether a shard may rest on those before it, whoever does them."""
        return self.plan.at_once == 1 and not self.plan.by_slot

    def _later(self, shard: Shard) -> None:
        """Keeps a shard that is not done: the next one where order counts, else one of the last."""
        if self._ordered:
            self.fresh.appendleft(shard)
        else:
            self.shared.append(shard)

    def has_open(self, shard: Shard) -> bool:
        """Whether a shard has slots left, as far as the ledger was read."""
        return any(still_open(slot, self.run.ledger.state) for slot in self._slots(shard))

    def _slots(self, shard: Shard) -> Sequence[PlannedSlot]:
        """What is claimed of a shard; one slot stands for the whole of it, which no commit
        settles.
        """
        return shard.items if self.plan.by_slot else [PlannedSlot(self._name(shard), "", 0, 0)]

    def _name(self, shard: Shard) -> str:
        """The name of a shard's journal, and of the claim on the whole of it."""
        return f"{self.ref.stage_key}-{shard.name}"

    def _hand(self, shard: Shard) -> ClaimedSlots:
        slots, whole = self._slots(shard), not self.plan.by_slot
        leases = self.run.leases
        return ClaimedSlots(leases, self._others, slots, self._rng, self._say, whole=whole)

    def _say(self, line: str) -> None:
        self.run.say_once(f"{self.stage.name}: {line}")

    async def _visit(self, shard: Shard, hand: ClaimedSlots) -> None:
        """Has what can be taken of a shard done; its journal is kept until all of the shard is."""
        run, name = self.run, self._name(shard)
        if run.budget.max_tokens is not None or run.budget.max_cost_usd is not None:
            run.budget.recount(spent(run.ledger))

        journal = run.journals[shard.name] = free_journal(run.ledger.journal_folder, name)
        over = False

        async def work() -> None:
            await self.stage.work(run, self.ref.stage_key, shard)

        try:
            with hand.watched():
                if hand.whole:
                    await hand.under_claim(name, work)
                    over = name in hand.held and run.stopped is None
                else:
                    run.hands[shard.name] = hand
                    await work()
                    over = not self.has_open(shard)

            hand.give_back()
            if not over:
                self._later(shard)
        finally:
            hand.tried.set()
            run.hands.pop(shard.name, None)
            del run.journals[shard.name]
            journal.close(discard=over or journal.empty)
