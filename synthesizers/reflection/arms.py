"""The five arms of the comparison at equal cost: who may start episodes from where, with or without
guidance, until as much is spent.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import msgspec

from synth.rollout.episode import EpisodeSpec
from synth.rollout.start import BranchPoint
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Trajectory
from synth.synthesizers.reflection.chain import VERIFIED, Chain, improved
from synth.synthesizers.reflection.price import Prices, Tokens, tokens_of_attempts
from synth.text.leaks import leaks

FRESH, UNGUIDED, ELSEWHERE, GUIDED, FROM_START = (
    "fresh",
    "unguided",
    "guided_elsewhere",
    "guided",
    "guided_from_start",
)
ARMS: Mapping[str, str] = {
    FRESH: "(a) fresh, from step 0",
    UNGUIDED: "(b) unguided, from the pivot",
    ELSEWHERE: "(c) guided, from another trial's pivot",
    GUIDED: "(d) guided, from the pivot",
    FROM_START: "(e) guided, from step 0",
}
MOST_EPISODES = 20
"""Of one arm of one trial; reached, it is counted, not hidden."""
NEW_TRIALS = 1_000_000
"""Trials of episodes from step 0 begin here: an attempt from the start is a new draw of the whole
policy, its misconceptions too.
"""
SYNTHESIZER = "equal_budget"

Make = Callable[[Chain, str, int, int, "BranchPoint | None", "str | None"], EpisodeSpec]
"""(chain, arm, draw, trial, start, guidance) -> the work."""
Play = Callable[[Sequence[EpisodeSpec]], Awaitable[Sequence[Trajectory]]]


class ArmResult(msgspec.Struct, frozen=True):
    """What an arm came to on one failed trial; `kept` are rows that are verified and leak-clean."""

    price: float
    kept: int
    episodes: int
    overrun: float
    estimated: int


@dataclass(slots=True)
class _Arm:
    chain: Chain
    name: str
    budget: float
    start: BranchPoint | None
    guidance: str | None
    spent: Tokens
    kept: int = 0
    episodes: int = 0
    over: bool = False

    def may_start(self, prices: Prices) -> bool:
        return (
            not self.over and self.episodes < MOST_EPISODES and self.spent.at(prices) < self.budget
        )

    def result(self, prices: Prices) -> ArmResult:
        price = self.spent.at(prices)
        return ArmResult(
            price, self.kept, self.episodes, max(0.0, price - self.budget), self.spent.estimated
        )


@dataclass(slots=True)
class EqualBudgetStudy:
    """The arms of a shard's failed trials. `played` are all their episodes, which no data set is
    made of.
    """

    prices: Prices
    seed: int
    played: list[Trajectory] = field(default_factory=list)

    async def run(
        self, chains: Sequence[Chain], make: Make, play: Play
    ) -> dict[str, dict[str, ArmResult]] | None:
        """Results by chain and arm; None where a ceiling ended it before all were done.

        A chain that a fault of the machinery ended says nothing about reflection, and is no unit.
        """
        units = [
            chain
            for chain in chains
            if chain.base.outcome is not Outcome.SUCCESS and chain.fault is None
        ]
        pivots = sorted(
            chain.retries[0].pivot for chain in units if chain.retries[0].pivot is not None
        )
        arms = [arm for chain in units for arm in self._arms(chain, pivots)]
        while open_arms := [arm for arm in arms if arm.may_start(self.prices)]:
            works = {}
            for arm in open_arms:
                work = self._work(arm, make)
                works[work.slot_id] = (arm, work)
            attempts = await play([work for _, work in works.values()])
            by_slot = by_slots(attempts)
            if len(by_slot) < len(works):
                return None
            for slot, (arm, _) in works.items():
                await asyncio.sleep(0)
                self._take(arm, by_slot[slot])
        found: dict[str, dict[str, ArmResult]] = {
            chain.base.trajectory_id: {GUIDED: self._guided(chain)} for chain in units
        }
        for arm in arms:
            found[arm.chain.base.trajectory_id][arm.name] = arm.result(self.prices)
        return found

    def _guided(self, chain: Chain) -> ArmResult:
        """Arm (d) is the retry itself: what it has cost is the budget."""
        tokens = chain.tokens()
        episodes = sum(bool(retry.attempts) for retry in chain.retries)
        return ArmResult(
            tokens.at(self.prices), int(chain.reason == VERIFIED), episodes, 0.0, tokens.estimated
        )

    def _arms(self, chain: Chain, pivots: Sequence[int]) -> list[_Arm]:
        """The other four. Those that use the guidance have paid for the reflection before they
        begin.

        Where the reflection gave no pivot there is no guidance to try: (c) and (e) have only its
        cost, and (b) starts at step 0.
        """
        retry, budget = chain.retries[0], chain.tokens().at(self.prices)
        reflection = chain.reflection_tokens(retry)
        at = None if retry.pivot is None else BranchPoint(chain.base, retry.pivot)
        arms = [
            _Arm(chain, FRESH, budget, None, None, Tokens()),
            _Arm(chain, UNGUIDED, budget, at, None, Tokens()),
        ]
        elsewhere = (
            None
            if retry.pivot is None
            else BranchPoint(chain.base, self._other_pivot(chain, pivots))
        )
        arms.append(
            _Arm(
                chain,
                ELSEWHERE,
                budget,
                elsewhere,
                retry.guidance,
                reflection,
                over=retry.guidance is None,
            )
        )
        arms.append(
            _Arm(
                chain,
                FROM_START,
                budget,
                None,
                retry.guidance,
                reflection,
                over=retry.guidance is None,
            )
        )
        return arms

    def _other_pivot(self, chain: Chain, pivots: Sequence[int]) -> int:
        """k' drawn from all pivots that this trial is long enough for, whatever its own is."""
        rng = Random(f"equal budget {self.seed} {chain.base.trajectory_id}")
        return rng.choice([pivot for pivot in pivots if pivot < len(chain.base.turns)])

    def _work(self, arm: _Arm, make: Make) -> EpisodeSpec:
        draw = arm.episodes + 1
        trial = (
            arm.chain.base.trial
            if arm.start is not None
            else NEW_TRIALS * draw + arm.chain.base.trial
        )
        return make(arm.chain, arm.name, draw, trial, arm.start, arm.guidance)

    def _take(self, arm: _Arm, attempts: Sequence[Trajectory]) -> None:
        """An episode counts whole, however it ended; a row is kept where it is solved and nothing
        of guidance shows in it.
        """
        arm.episodes += 1
        arm.spent = arm.spent + tokens_of_attempts(attempts)
        result = attempts[-1]
        arm.kept += (
            result.outcome is Outcome.SUCCESS
            and improved(arm.chain.base, result)[0]
            and not leaks(result)
        )
        self.played += attempts


def by_slots(attempts: Sequence[Trajectory]) -> dict[str, list[Trajectory]]:
    """All attempts by slot, in their order."""
    found: dict[str, list[Trajectory]] = {}
    for attempt in attempts:
        found.setdefault(attempt.slot_id, []).append(attempt)
    return found
