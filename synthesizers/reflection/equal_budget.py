"""The five arms of the comparison at equal cost: what each retry has cost is spent on four other
arms too, whose episodes go into no data set; and what guidance, pivot and branching are worth then.

Base trials are selected for failing, so that any further try improves on them: only the arms beside
one another say anything.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from synth.engine.study.shard import ShardContext
from synth.rollout.episode import EpisodeSpec
from synth.rollout.start import BranchPoint
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Trajectory
from synth.synthesizers.reflection.playing import retry_spec
from synth.synthesizers.reflection.retry_chain import VERIFIED, RetryChain
from synth.synthesizers.reflection.token_cost import (
    ArmResult,
    Prices,
    Tokens,
    improved,
    tokens_of_attempts,
)
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


@dataclass(slots=True)
class BudgetArm:
    """Episodes of one arm on one failed trial, until as much is `spent` as its retry has cost; one
    that uses the guidance has paid for the reflection before it begins.
    """

    chain: RetryChain
    name: str
    budget: float
    start: BranchPoint | None = None
    guidance: str | None = None
    spent: Tokens = field(default_factory=Tokens)
    kept: int = 0
    episodes: int = 0

    def result(self, prices: Prices) -> ArmResult:
        """What it came to so far."""
        price = self.spent.at(prices)
        over = max(0.0, price - self.budget)
        return ArmResult(price, self.kept, self.episodes, over, self.spent.estimated)

    def spec(self, shard: ShardContext) -> EpisodeSpec:
        """The next episode."""
        draw, trial = self.episodes + 1, self.chain.base.trial
        return retry_spec(
            shard,
            self.chain,
            self.start,
            self.guidance,
            trial=trial if self.start is not None else NEW_TRIALS * draw + trial,
            draw=draw,
            synthesizer=f"equal_budget_{self.name}",
        )

    def take(self, attempts: Sequence[Trajectory]) -> None:
        """An episode counts whole, however it ended; a row is kept where it is solved and nothing
        of guidance shows in it.
        """
        result = attempts[-1]
        self.episodes += 1
        self.spent += tokens_of_attempts(attempts)
        self.kept += improved(self.chain.base, result)[0] and not leaks(result)


async def played_at_equal_cost(
    shard: ShardContext, chains: Sequence[RetryChain], prices: Prices
) -> list[Trajectory] | None:
    """Plays the other arms of a shard's failed trials and says in the chains what all came to; the
    new episodes, None where a ceiling ended it before all were done.

    A chain that a fault of the machinery ended says nothing about reflection, and is no unit.
    """
    units = [
        chain
        for chain in chains
        if chain.base.outcome is not Outcome.SUCCESS and chain.fault is None and chain.retries
    ]
    pivots = sorted(pivot for one in units if (pivot := one.retries[0].pivot) is not None)
    arms = [arm for one in units for arm in _other_arms(one, pivots, prices, shard.player.seed)]
    new: list[Trajectory] = []
    while going := [
        arm for arm in arms if arm.episodes < MOST_EPISODES and arm.spent.at(prices) < arm.budget
    ]:
        specs = [arm.spec(shard) for arm in going]
        found = await shard.episodes.attempted(specs, shard.player)
        if len(found) < len(going):
            return None
        for arm, spec in zip(going, specs, strict=True):
            await asyncio.sleep(0)
            episode = found[spec.slot_id]
            arm.take(episode.made)
            new += [] if episode.known else episode.made
    for chain in units:
        others = {arm.name: arm.result(prices) for arm in arms if arm.chain is chain}
        chain.arms = {GUIDED: _own_result(chain, prices), **others}
    return new


def _own_result(chain: RetryChain, prices: Prices) -> ArmResult:
    """What the retry itself came to."""
    tokens, verified = chain.tokens(), int(chain.reason == VERIFIED)
    episodes = sum(bool(retry.attempts) for retry in chain.retries)
    return ArmResult(tokens.at(prices), verified, episodes, 0.0, tokens.estimated)


def _other_arms(
    chain: RetryChain, pivots: Sequence[int], prices: Prices, seed: int
) -> list[BudgetArm]:
    """The other four arms: (d) is the retry itself, and what it has cost is the budget.

    Where the reflection gave no pivot there is no guidance to try: (c) and (e) have only its cost,
    and (b) starts at step 0.
    """
    retry, budget, base = chain.retries[0], chain.tokens().at(prices), chain.base
    paid, guidance = retry.spent, retry.guidance
    own = elsewhere = None
    if retry.pivot is not None:
        # drawn from all pivots that this trial is long enough for, whatever its own is
        rng = Random(f"equal budget {seed} {base.trajectory_id}")
        other = rng.choice([pivot for pivot in pivots if pivot < len(base.turns)])
        own, elsewhere = BranchPoint(base, retry.pivot), BranchPoint(base, other)
    return [
        BudgetArm(chain, FRESH, budget),
        BudgetArm(chain, UNGUIDED, budget, own),
        BudgetArm(chain, ELSEWHERE, budget, elsewhere, guidance, paid),
        BudgetArm(chain, FROM_START, budget, None, guidance, paid),
    ]
