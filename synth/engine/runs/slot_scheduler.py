"""Shards whose slots are taken one by one: by this process in their order, and by whoever is
through with what nobody else had begun.
"""

import asyncio
import random
from collections import deque

from synth.claims.slots import ClaimedSlots, PeerClaims, still_open
from synth.engine.context import Run
from synth.engine.cost import spent
from synth.ledger.ledger import Ledger, StageRef
from synth.ledger.storage.journal import free_journal
from synth.schemas.stage import Plan, Shard, Stage
from synth.side_by_side import run_workers

WAIT_S, LONGEST_WAIT_S = 0.5, 20.0


def longer(wait_s: float, ledger: Ledger) -> float:
    """How long to wait after a wait in vain: on an object store each look costs requests."""
    return wait_s if ledger.storage.local else min(LONGEST_WAIT_S, 1.5 * wait_s)


async def do_by_slot(run: Run, stage: Stage[Run], ref: StageRef, plan: Plan) -> None:
    """Does what no other worker has in hand, until all slots of the plan are tried.

    Shards are done in their order, those that others are at last. After one of these it goes on
    with any of the rest, so that workers that began together part.
    """
    leases = run.leases
    others, rng = PeerClaims(leases, term_s=run.flow.lease_s), random.Random(leases.holder())
    fresh, shared = deque(plan.shards), list[Shard]()

    def say(line: str) -> None:
        run.say_once(f"{stage.name}: {line}")

    async def visit(shard: Shard, hand: ClaimedSlots) -> None:
        try:
            await _visit(run, stage, ref, shard, hand)
        finally:
            hand.tried.set()

        if _open(run, shard):
            shared.append(shard)

    async def worker() -> None:
        visits, wait_s = set[asyncio.Task[None]](), WAIT_S

        async with asyncio.TaskGroup() as group:
            while run.may_start() and leases.units.left():
                visits = {task for task in visits if not task.done()}
                if not fresh and not shared:
                    if not visits:
                        return
                    await asyncio.wait(visits, return_when=asyncio.FIRST_COMPLETED)
                    continue
                first = bool(fresh)
                shard = fresh.popleft() if fresh else shared.pop(rng.randrange(len(shared)))
                if not _open(run, shard):
                    continue
                hand = ClaimedSlots(leases, others, shard.items, rng, say)
                if await hand.begin(shared=not first):
                    visits.add(group.create_task(visit(shard, hand)))
                    # what is under way there keeps nobody from what is free elsewhere
                    await hand.tried.wait()
                    wait_s = WAIT_S
                    continue
                shared.append(shard)
                if first:
                    fresh.rotate(rng.randrange(1 + len(fresh)))
                    continue
                say(
                    "others work on this run; waiting for their episodes, or for a silence of "
                    f"{run.flow.lease_s:g} s"
                )
                await asyncio.sleep(wait_s)
                wait_s = longer(wait_s, run.ledger)

    await run_workers(min(plan.at_once, len(plan.shards)), worker)


async def _visit(
    run: Run, stage: Stage[Run], ref: StageRef, shard: Shard, hand: ClaimedSlots
) -> None:
    """Has what can be taken of a shard done; its journal is kept until all of the shard is."""
    if run.budget.max_tokens is not None or run.budget.max_cost_usd is not None:
        run.budget.recount(spent(run.ledger))
    journal = free_journal(run.ledger.journal_folder, f"{ref.stage_key}-{shard.name}")
    run.journals[shard.name], run.hands[shard.name] = journal, hand
    over = False

    try:
        await stage.work(run, ref.stage_key, shard)
        over = not _open(run, shard)
        hand.give_back()
    finally:
        del run.journals[shard.name], run.hands[shard.name]
        journal.close(discard=over or journal.empty)


def some_open(run: Run, plan: Plan) -> bool:
    """Whether a plan has slots left, as far as the ledger was read."""
    return any(_open(run, shard) for shard in plan.shards)


def _open(run: Run, shard: Shard) -> bool:
    """Whether a shard has slots left, as far as the ledger was read."""
    return any(still_open(slot, run.ledger.state) for slot in shard.items)
