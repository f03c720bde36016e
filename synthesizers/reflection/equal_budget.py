"""Compares retries at equal cost: spends the cost of each retry on four other arms too, whose
episodes go into no data set, to measure what guidance, pivot and branching are worth.

Base trials are selected for failing, so any further try improves on them: only arms compared with
one another mean anything.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from synth.engine.study.shard import ShardContext
from synth.rollout.episode import EpisodeSpec
from synth.rollout.start import BranchPoint
from synth.schemas import Outcome, Trajectory
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
"""The most episodes of one arm of one trial; the report counts the arms that reach it."""
NEW_TRIALS = 1_000_000
"""The first trial number of episodes from step 0: an attempt from the start draws the whole policy
anew, its misconceptions too.
"""


@dataclass(slots=True)
class BudgetArm:
    """Plays one arm of one failed trial until it has `spent` the cost of the retry; an arm that
    uses the guidance has paid for the reflection before it begins.
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
        """The arm's result so far."""
        price = self.spent.at(prices)
        over = max(0.0, price - self.budget)
        return ArmResult(price, self.kept, self.episodes, over, self.spent.estimated)

    def spec(self, shard: ShardContext) -> EpisodeSpec:
        """The specification of the next episode."""
        draw = self.episodes + 1
        trial = self.chain.base.trial

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
        """Counts an episode whole, however it ended, and keeps a row where it is solved and shows
        nothing of the guidance.
        """

        result = attempts[-1]
        self.episodes += 1
        self.spent += tokens_of_attempts(attempts)
        self.kept += improved(self.chain.base, result)[0] and not leaks(result)


async def played_at_equal_cost(
    shard: ShardContext, chains: Sequence[RetryChain], prices: Prices
) -> list[Trajectory] | None:
    """Plays the other arms of a shard's failed trials, and writes the results into their chains;
    the new episodes, None where a ceiling ended it before all were done.

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
    """The result of the retry itself."""
    tokens = chain.tokens()
    verified = int(chain.reason == VERIFIED)
    episodes = sum(bool(retry.attempts) for retry in chain.retries)
    return ArmResult(tokens.at(prices), verified, episodes, 0.0, tokens.estimated)


def _other_arms(
    chain: RetryChain, pivots: Sequence[int], prices: Prices, seed: int
) -> list[BudgetArm]:
    """The other four arms; (d) is the retry itself, whose cost is the budget.

    Where the reflection gave no pivot there is no guidance to try: (c) and (e) have only its cost,
    and (b) starts at step 0.
    """

    retry = chain.retries[0]
    budget = chain.tokens().at(prices)
    base = chain.base
    paid = retry.spent
    guidance = retry.guidance
    own = elsewhere = None

    if retry.pivot is not None:
        # drawn from all pivots that this trial is long enough for, whatever its own is
        rng = Random(f"equal budget {seed} {base.trajectory_id}")
        other = rng.choice([pivot for pivot in pivots if pivot < len(base.turns)])
        own = BranchPoint(base, retry.pivot)
        elsewhere = BranchPoint(base, other)

    return [
        BudgetArm(chain, FRESH, budget),
        BudgetArm(chain, UNGUIDED, budget, own),
        BudgetArm(chain, ELSEWHERE, budget, elsewhere, guidance, paid),
        BudgetArm(chain, FROM_START, budget, None, guidance, paid),
    ]
