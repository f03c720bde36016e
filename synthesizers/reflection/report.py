"""Reports retries: the likelihood leak, off-policy shares, the cost, and the worth of guidance,
pivot and branching at equal cost.

Base trials are selected for failing, so any further try improves on them: only arms compared with
one another mean anything.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from synth.engine.numbers import counted_noun, short_count
from synth.engine.study.method import method_report
from synth.engine.study.stage_context import StageContext
from synth.ledger.ledger import Decision
from synth.ledger.typed import Read
from synth.synthesizers.reflection.chain_rows import CHAIN, ChainEnd
from synth.synthesizers.reflection.equal_budget import (
    ARMS,
    ELSEWHERE,
    FRESH,
    GUIDED,
    MOST_EPISODES,
    UNGUIDED,
)
from synth.synthesizers.reflection.measuring import GAIN, OFF_POLICY, Gain, OffPolicy, judged
from synth.synthesizers.reflection.retry_chain import VERIFIED
from synth.synthesizers.reflection.token_cost import CHARACTERS_PER_TOKEN, ArmResult

EFFECTS: Mapping[str, tuple[str, str]] = {
    "guidance (d - b)": (GUIDED, UNGUIDED),
    "pivot (d - c)": (GUIDED, ELSEWHERE),
    "branching (b - a)": (UNGUIDED, FRESH),
    "net (d - a)": (GUIDED, FRESH),
}
ROWS, TASKS = "kept rows per 1M priced tokens", "tasks newly solved"
RESAMPLES = 2000
Sums = npt.NDArray[np.float64]
"""On the last axis: kept rows, price, tasks that are newly solved."""


class RetryUnit(msgspec.Struct, frozen=True):
    """One failed base trial: its task, whether any base trial solved that, and the result of each
    arm.
    """

    task_id: str
    task_was_solved: bool
    arms: Mapping[str, ArmResult]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yields a row per arm; `new`: the arm has solved the task first."""
        for arm, result in self.arms.items():
            new = result.kept > 0 and not self.task_was_solved
            yield {
                "task": self.task_id,
                "arm": arm,
                "new": new,
                **msgspec.to_builtins(result),
            }


def retry_report(
    stage: StageContext, reflector: str, *, gold_informed: bool, likelihood: bool, seed: int
) -> Mapping[str, Any]:
    """The report of kind `method`; `likelihood`: whether the stage was to measure it."""
    chains = _ended_chains(stage)
    gains = stage.rows(Gain, GAIN)
    tags = stage.rows(OffPolicy, OFF_POLICY)
    decisions = judged(gains)
    likelier = sum(decision.keep is False for decision in decisions)
    reasons = Counter(chain.reason for chain in chains)
    verified = reasons.pop(VERIFIED, 0) - likelier
    reasons["leak:likelihood"] += likelier

    tagged = " (gold_informed: it looks at what the check found wrong)" if gold_informed else ""
    priced = sum(chain.price for chain in chains)
    also = [f"reflector {reflector}{tagged}", _spent(stage, priced)]
    also += [likelihood_in_words(decisions, gains)] if gains and likelihood else []
    also += [off_policy_in_words(tags)] if tags else []
    more: dict[str, Any] = {"reflector": reflector, "gold_informed": gold_informed}

    if units := _compared_units(stage, chains):
        found = compared(units, gold_informed=gold_informed, reflector=reflector, seed=seed)
        more["equal_budget"] = found
        also += [
            f"equal budget, {name}: {effect_in_words(found['effects'][f'{name}: {ROWS}'])} ({ROWS})"
            for name in ("guidance (d - b)", "net (d - a)")
        ]

    return method_report(
        "trials", len(chains), verified, reasons, also=also, priced_tokens=priced, **more
    )


def _ended_chains(stage: StageContext) -> list[ChainEnd]:
    """The chains by their keys; one that was tried again counts once."""
    ends: dict[str, ChainEnd] = {}
    for row in stage.rows(ChainEnd, CHAIN):
        if row.about.settled or row.about.key not in ends:
            ends[row.about.key] = row.about
    return [ends[key] for key in sorted(ends)]


def _compared_units(stage: StageContext, chains: Sequence[ChainEnd]) -> list[RetryUnit]:
    """The failed trials whose arms were played."""
    sql = (
        "SELECT DISTINCT task_id FROM trajectories WHERE synthesizer = 'rollout' AND "
        "outcome = 'success'"
    )
    solved = {task_id for (task_id,) in stage.select(sql)}
    ordered = sorted(chains, key=lambda chain: chain.chain)
    return [RetryUnit(one.task, one.task in solved, one.arms) for one in ordered if one.arms]


def _spent(stage: StageContext, priced: float) -> str:
    """The cost, or an estimate where no model was asked: scripts and rules use no tokens."""
    sql = (
        "SELECT sum(model_calls), sum(prompt_tokens + completion_tokens), sum(cost_usd) "
        "FROM spending WHERE stage = ?"
    )

    ((calls, tokens, dollars),) = stage.select(sql, stage.name)

    if calls:
        money = "" if dollars is None else f", ${dollars:,.4g}"
        return f"cost {short_count(tokens)} tokens in {counted_noun(calls, 'call')}{money}"

    return (
        f"cost nothing: no model was asked (with one about {short_count(round(priced))} priced "
        f"tokens, at {CHARACTERS_PER_TOKEN} characters a token)"
    )


def likelihood_in_words(decisions: Sequence[Decision], rows: Sequence[Read[Gain]]) -> str:
    """One line: the rejected share with its counts, or the reasons why nothing is known."""
    known = [decision for decision in decisions if decision.keep is not None]
    if not known:
        reasons = dict.fromkeys(decision.reason for decision in decisions)
        how = "; name one as role `student`, with engine vllm or transformers"
        return (
            f"likelihood leak undefined for all {len(decisions)} kept retries "
            f"({', '.join(reasons)}{how if 'no_scoring_model' in reasons else ''})"
        )

    rejected = sum(decision.keep is False for decision in known)
    undefined = len(decisions) - len(known)

    return (
        f"likelihood leak: {rejected} of {len(known)} ({rejected / len(known):.0%}) rejected"
        f"{f', {undefined} undefined' if undefined else ''}; the limit is the 95th percentile of "
        f"{sum(len(row.about.shuffled) for row in rows)} shuffled; "
        f"{sum(row.about.scorings for row in rows)} scorings"
    )


def off_policy_in_words(rows: Sequence[Read[OffPolicy]]) -> str:
    """One line: how many kept retries are off-policy, and how many samples that took."""
    known = [row for row in rows if row.value is not None]
    if not known:
        reasons = dict.fromkeys(str(row.about.reason) for row in rows)
        how = "; `off_policy_samples: 8` measures it for a scripted policy too"
        return (
            f"off-policy at the pivot: not known for all {len(rows)} kept retries "
            f"({', '.join(reasons)}{how if 'not_measured' in reasons else ''})"
        )

    exact = sum(row.about.method == "deterministic" for row in known)

    return (
        f"off-policy at the pivot: {sum(row.value == 1 for row in known)} of {len(known)} kept "
        f"retries ({sum(row.about.samples for row in known)} samples of the unguided policy"
        f"{f', {exact} by the trial of a deterministic policy itself' if exact else ''})"
    )


def compared(
    units: Sequence[RetryUnit], *, gold_informed: bool, reflector: str, seed: int
) -> dict[str, Any]:
    """Endpoints and effects as plain values, with intervals by bootstrap over tasks. Gold-informed
    guidance gives no verdict: with it the result is true by construction.
    """

    results = pl.DataFrame([row for unit in units for row in unit.rows()])
    measured = _measured(results, seed)
    effects = {
        f"{name}: {endpoint}": _effect(measured[more][endpoint] - measured[less][endpoint])
        for name, (more, less) in EFFECTS.items()
        for endpoint in (ROWS, TASKS)
    }

    if gold_informed:
        for effect in effects.values():
            effect["verdict"] = "supports no claim: gold-informed"

    totals = results.group_by("arm").agg(
        pl.col("episodes", "kept", "price", "overrun", "estimated").sum(),
        (pl.col("episodes") >= MOST_EPISODES).sum().alias("stopped_at_most_episodes"),
    )

    arms = {row.pop("arm"): row for row in totals.to_dicts()}
    for arm, row in arms.items():
        row |= {endpoint: float(values[0]) for endpoint, values in measured[arm].items()}

    return {
        "reflector": reflector,
        "gold_informed": gold_informed,
        "trials": len(units),
        "tasks": results["task"].n_unique(),
        "arms": {arm: arms[arm] for arm in ARMS},
        "effects": effects,
    }


def _measured(results: pl.DataFrame, seed: int) -> Mapping[str, Mapping[str, Sums]]:
    """The endpoints of each arm: first over all tasks, then over resamples of whole tasks, the same
    ones for all arms.
    """

    by_task = (
        results.group_by("arm", "task")
        .agg(pl.col("kept", "price").sum(), pl.col("new").max().cast(pl.Float64))
        .sort("task")
        .partition_by("arm", as_dict=True)
    )

    count = results["task"].n_unique()
    rng = Random(f"equal budget bootstrap {seed}")
    # seeded, so that a report gives the same intervals each time
    draws = [rng.choices(range(count), k=count) for _ in range(RESAMPLES if count > 1 else 0)]
    places = np.array([range(count), *draws])
    found = {}

    for arm in ARMS:
        sums = by_task[arm,].select("kept", "price", "new").to_numpy()[places].sum(axis=1)
        kept, price, new = sums.T
        rows = np.divide(1_000_000 * kept, price, out=np.zeros_like(price), where=price > 0)
        found[arm] = {ROWS: rows, TASKS: new}

    return found


def _effect(differences: Sums) -> dict[str, Any]:
    """The difference over all tasks, and the 2.5 and 97.5 percentiles over the resamples, None with
    fewer than two tasks.
    """

    whole, *resampled = map(float, differences)
    values = sorted(resampled)
    last = len(resampled) - 1
    low, high = (values[round(p * last)] if values else None for p in (0.025, 0.975))

    return {"difference": whole, "low": low, "high": high, "verdict": verdict(low, high)}


def verdict(low: float | None, high: float | None) -> str:
    """An arm beats another only where the interval excludes 0."""
    if low is None or high is None:
        return "not known"
    return "beats" if low > 0 else "is beaten" if high < 0 else "no difference shown"


def effect_in_words(effect: Mapping[str, Any]) -> str:
    """A difference with its interval and its verdict."""
    interval = "" if effect["low"] is None else f" [{effect['low']:+.1f}, {effect['high']:+.1f}]"
    return f"{effect['difference']:+.1f}{interval}: {effect['verdict']}"
