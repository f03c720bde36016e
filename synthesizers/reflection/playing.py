"""The chains of one shard, attempt by attempt: reflect on the last, play again; what the ledger
holds of them is taken up.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from synth.engine.context import Run
from synth.engine.study.player import Player
from synth.engine.study.rebuilding import why_not_replayable
from synth.ledger.log.state import IMPORT
from synth.rollout.episode import EpisodeSpec
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.rollout.start import BranchPoint
from synth.schemas.canonical import content_hash
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Trajectory
from synth.side_by_side import run_workers
from synth.synthesizers.episodes import played
from synth.synthesizers.reflection.chain import Chain, Retry
from synth.synthesizers.reflection.recorded import StoredReflection, recorded
from synth.synthesizers.reflection.reflectors import Reflect, Reflected
from synth.text.transcript.log import first_own_turn

SYNTHESIZER_NAME = "reflect_retry"
ASKED_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class RetryPlayed:
    """The attempts at a slot; `known`: the ledger had it before."""

    attempts: Sequence[Trajectory]
    known: bool


@dataclass(frozen=True, slots=True)
class ShardPlayer:
    """The player of one shard's episodes."""

    run: Run
    shard: str
    who: Player

    def spec(
        self,
        chain: Chain,
        start: BranchPoint | None,
        guidance: str | None,
        *,
        trial: int,
        draw: int,
        synthesizer: str = SYNTHESIZER_NAME,
    ) -> EpisodeSpec:
        """An episode on the chain's task: its slot names everything that determines it. It is
        numbered after the attempts that the ledger has of its slot; `draw` gives it randomness of
        its own.
        """
        if chain.task is None:
            raise ValueError(f"chain {chain.key}: no episode without its task")
        informed = chain.gold_informed and guidance is not None
        also = {
            "guidance": None if guidance is None else content_hash(guidance),
            "gold_informed": informed,
            "draw": draw,
        }
        spec = replace(self.who, synthesizer=synthesizer).episode(
            self.run,
            chain.task,
            trial,
            also,
            start,
            draw=draw,
            guidance=guidance,
            gold_informed=informed,
        )
        attempt = self.run.ledger.state.next_attempt(spec.slot_id)
        return msgspec.structs.replace(spec, first_attempt=attempt)

    async def play(self, specs: Iterable[EpisodeSpec]) -> dict[str, RetryPlayed]:
        """What the slots came to, those that the ledger has as they stand there; a slot that a
        ceiling kept from starting is not among them.
        """
        ledger, found = self.run.ledger, dict[str, RetryPlayed]()
        left, made = [], dict[str, list[Trajectory]]()
        for spec in specs:
            slot = ledger.state.slots.get(spec.slot_id)
            if slot is not None and slot.valid is not None:
                known = ledger.trajectory(slot.valid.trajectory_id)
                found[spec.slot_id] = RetryPlayed([known], known=True)
            else:
                left.append(spec)
        if left:
            model, places = self.who.role.model, self.who.places
            for attempt in await played(self.run, self.shard, left, model, places):
                made.setdefault(attempt.slot_id, []).append(attempt)
        return found | {slot: RetryPlayed(attempts, known=False) for slot, attempts in made.items()}


@dataclass(frozen=True, slots=True)
class Playing:
    """Who reflects, who plays, and how often."""

    player: ShardPlayer
    reflect: Reflect
    attempts: int

    async def through(self, chains: Sequence[Chain]) -> None:
        """Reflects and retries until each chain has an end, or a ceiling is reached; what the
        ledger has of them is taken up.
        """
        run = self.player.run
        looked_at = iter(chains)

        async def worker() -> None:
            for chain in looked_at:
                await self._end_where_unfit(chain)

        await run_workers(min(self.player.who.places.limit, max(1, len(chains))), worker)
        known = recorded(run.ledger, [chain.key for chain in chains])
        for number in range(1, self.attempts + 1):
            going = [chain for chain in chains if not chain.reason]
            if not going or not run.may_start():
                return
            retries = await self._reflected(going, number, known)
            specs = [self._spec(chain, retry, number) for chain, retry in retries]
            found = await self.player.play(specs)
            for (chain, retry), spec in zip(retries, specs, strict=True):
                await asyncio.sleep(0)
                if spec.slot_id in found:
                    retry.known = found[spec.slot_id].known
                    chain.played(found[spec.slot_id].attempts, more=number < self.attempts)

    def _spec(self, chain: Chain, retry: Retry, number: int) -> EpisodeSpec:
        if retry.pivot is None:
            raise ValueError(f"chain {chain.key}: no retry without a pivot")
        start = BranchPoint(retry.of, retry.pivot)
        return self.player.spec(chain, start, retry.guidance, trial=chain.base.trial, draw=number)

    async def _end_where_unfit(self, chain: Chain) -> None:
        """Ends the chain of an imported trial that cannot be built on, with the reason; one that
        was played here is tried without a look.
        """
        if chain.base.synthesizer != IMPORT:
            return
        run, passes = self.player.run, chain.base.outcome is Outcome.SUCCESS
        limit_s = self.player.who.limits.step_timeout_s
        reason = await why_not_replayable(run, chain.task, chain.base, limit_s, passes=passes)
        if reason is not None:
            chain.reason = reason
            faults = (fault for fault in RETRIED_BY_A_RERUN if reason == f"fault:{fault}")
            chain.fault = next(faults, None)
            run.progress.step(1)

    async def _reflected(
        self,
        chains: Sequence[Chain],
        number: int,
        known: Mapping[tuple[str, int], StoredReflection],
    ) -> list[tuple[Chain, Retry]]:
        """The retries that follow from reflections on the chains' last attempts, in the order of
        the chains.
        """
        found: dict[str, Retry] = {}
        waiting = iter(chains)

        async def worker() -> None:
            for chain in waiting:
                held = known.get((chain.key, number))
                if first_own_turn(chain.last) is None:
                    told = Reflected(reason="no_own_turn")
                elif held is not None and held.subject_id == chain.last.trajectory_id:
                    told = held.reflected
                else:
                    told = await self.reflect(chain.last, chain.lessons)
                retry = chain.reflected(told)
                await asyncio.sleep(0)
                if retry is not None:
                    found[chain.key] = retry
                elif chain.reason:
                    self.player.run.progress.step(1)

        await run_workers(min(ASKED_AT_ONCE, len(chains)), worker)
        return [(chain, found[chain.key]) for chain in chains if chain.key in found]
