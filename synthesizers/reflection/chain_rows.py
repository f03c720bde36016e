"""The rows that store a chain of retries."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import to_builtins

from synth.engine.study.shard import UnitResult
from synth.ledger.ledger import Score
from synth.schemas import RetryLabel
from synth.synthesizers.reflection.guidance import memory_scores
from synth.synthesizers.reflection.retry_chain import VERIFIED, Retry, RetryChain
from synth.synthesizers.reflection.token_cost import ArmResult, Prices, solved

CHAIN, REFLECTION = "reflect_retry", "reflection"
"""Metrics: of a chain, on its base trial; of a reflection, on the attempt that it is about."""


class ChainEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A chain as it is committed, under its key.

    `exhausted`: it ended only because no more retries were allowed; `made` of them were.
    `measured`: the settings of its measures; `arms`: the results of the comparison at equal cost.
    """

    chain: str
    key: str
    reason: str
    settled: bool
    retries: tuple[str, ...]
    made: int
    exhausted: bool
    measured: Mapping[str, Any]
    gold_informed: bool
    task: str
    price: float
    estimated: int
    arms: Mapping[str, ArmResult] | None = None


def record(chain: RetryChain, result: UnitResult, prices: Prices) -> None:
    """Writes a chain's attempts and the decisions on them, a row per reflection, the measures, and
    a row for the chain.
    """
    for number, retry in enumerate(chain.retries, start=1):
        result.trajectories += () if retry.known else retry.attempts
        result.decisions += retry.decisions()
        result.replies += retry.reflected.replies
        result.scores.append(_reflection_score(chain, number, retry))

    if chain.memory is not None:
        result.scores += memory_scores(chain.key, chain.memos, chain.outcomes, chain.memory)

    tokens = chain.tokens()
    made = [retry.attempts for retry in chain.retries if retry.attempts]
    end = ChainEnd(
        chain=chain.base.trajectory_id,
        key=chain.key,
        reason=chain.reason,
        settled=chain.settled,
        retries=tuple(attempt.trajectory_id for attempts in made for attempt in attempts),
        made=len(made),
        exhausted=chain.exhausted,
        measured=chain.measured,
        gold_informed=chain.gold_informed,
        task=chain.base.task_id,
        price=tokens.at(prices),
        estimated=tokens.estimated,
        arms=chain.arms,
    )

    value = float(chain.reason == VERIFIED)
    result.scores += [*chain.measures, Score(end.chain, CHAIN, value, detail=end)]


def _reflection_score(chain: RetryChain, number: int, retry: Retry) -> Score:
    """The row of one reflection, with the retry that followed from it."""
    before = retry.of
    result = retry.outcome
    label = RetryLabel(
        chain=chain.base.trajectory_id,
        key=chain.key,
        attempt=number,
        retry=None if result is None else result.trajectory_id,
        reflection=to_builtins(retry.reflected.reflection),
        memo=retry.memo,
        why_none=retry.reflected.reason,
        what_was_wrong=retry.reflected.detail,
        gold_informed=chain.gold_informed,
        pivot=retry.pivot,
        r1=solved(before),
        r2=None if result is None else solved(result),
        steps1=len(before.turns),
        steps2=None if result is None else len(result.turns),
        tokens=to_builtins(retry.spent),
        leaks=tuple(map(to_builtins, retry.found)),
    )

    value = None if result is None else float(retry.keep and not retry.found)

    return Score(before.trajectory_id, REFLECTION, value, retry.pivot, label)
