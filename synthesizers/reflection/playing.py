"""The chains of one shard, attempt by attempt: reflect on the last, play again; what the ledger
holds of them is taken up.
"""

import asyncio
from collections.abc import Mapping, Sequence

from synth.engine.context import Run
from synth.models.admission import ConcurrencyLimit
from synth.rollout.episode import EpisodeSpec
from synth.rollout.start import BranchPoint
from synth.side_by_side import run_workers
from synth.synthesizers.episodes import played
from synth.synthesizers.reflection.arms import by_slots
from synth.synthesizers.reflection.bases import end_where_unfit
from synth.synthesizers.reflection.chain import Chain, Retry
from synth.synthesizers.reflection.finished import StoredReflection, recorded
from synth.synthesizers.reflection.reflectors import Reflect, Reflected
from synth.synthesizers.reflection.retry_work import RetryWork
from synth.text.transcript.log import first_own_turn

ASKED_AT_ONCE = 64


class Playing:
    """Who reflects, who plays, and how often."""

    def __init__(
        self,
        run: Run,
        shard: str,
        make: RetryWork,
        places: ConcurrencyLimit,
        reflect: Reflect,
        attempts: int,
    ) -> None:
        self._run = run
        self._shard = shard
        self._make = make
        self._places = places
        self._reflect = reflect
        self._attempts = attempts

    async def through(self, chains: Sequence[Chain]) -> None:
        """Reflects and retries until each chain has an end, or a ceiling is reached; what the
        ledger has of them is taken up.
        """
        await self._looked_at(chains)
        known = recorded(self._run.ledger, [chain.key for chain in chains])
        for number in range(1, self._attempts + 1):
            going = [chain for chain in chains if not chain.reason]
            if not going or not self._run.may_start():
                return
            retries = await self._reflected(
                going, {key: found for (key, at), found in known.items() if at == number}
            )
            works = {chain.key: self._retry(chain, retry, number) for chain, retry in retries}
            slots = self._run.ledger.state.slots
            held = {
                work.slot_id: slot.valid
                for work in works.values()
                if (slot := slots.get(work.slot_id)) is not None and slot.valid
            }
            left = [work for work in works.values() if work.slot_id not in held]
            by_slot = by_slots(
                await played(self._run, self._shard, left, self._make.role.model, self._places)
                if left
                else []
            )
            for chain, retry in retries:
                await asyncio.sleep(0)
                slot_id = works[chain.key].slot_id
                if slot_id in held:
                    retry.known = True
                    by_slot[slot_id] = [self._run.ledger.trajectory(held[slot_id].trajectory_id)]
                if slot_id in by_slot:
                    chain.played(by_slot[slot_id], more=number < self._attempts)

    async def _looked_at(self, chains: Sequence[Chain]) -> None:
        waiting = iter(chains)

        async def worker() -> None:
            for chain in waiting:
                await end_where_unfit(self._run, chain, self._make.limits.step_timeout_s)

        await run_workers(min(self._places.limit, max(1, len(chains))), worker)

    async def _reflected(
        self, chains: Sequence[Chain], known: Mapping[str, StoredReflection]
    ) -> list[tuple[Chain, Retry]]:
        """The retries that follow from reflections on the chains' last attempts, in the order of
        the chains.
        """
        found: dict[str, tuple[Chain, Retry]] = {}
        waiting = iter(chains)

        async def worker() -> None:
            for chain in waiting:
                held = known.get(chain.key)
                if first_own_turn(chain.last) is None:
                    told = Reflected(reason="no_own_turn")
                elif held is not None and held.subject_id == chain.last.trajectory_id:
                    told = held.reflected
                else:
                    told = await self._reflect(chain.last, chain.lessons)
                retry = chain.reflected(told)
                await asyncio.sleep(0)
                if retry is not None:
                    found[chain.key] = (chain, retry)
                elif chain.reason:
                    self._run.progress.step(1)

        await run_workers(min(ASKED_AT_ONCE, len(chains)), worker)
        return [found[chain.key] for chain in chains if chain.key in found]

    def _retry(self, chain: Chain, retry: Retry, number: int) -> EpisodeSpec:
        if retry.pivot is None or chain.task is None:
            raise ValueError(
                "a retry is made of a reflection with a pivot, on a task that is there"
            )
        start = BranchPoint(retry.of, retry.pivot)
        return self._make.make(
            self._run,
            chain.task,
            trial=chain.base.trial,
            draw=number,
            start=start,
            guidance=retry.guidance,
            gold_informed=chain.gold_informed,
        )
