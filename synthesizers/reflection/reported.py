"""What the stage says when it is done: attempted, verified, rejected by reason, what it has cost,
and the comparison at equal cost.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.engine.numbers import counted_noun, short_count
from synth.ledger.ledger import Ledger
from synth.ledger.views import connect
from synth.synthesizers.reflection.arms import ArmResult
from synth.synthesizers.reflection.chain import VERIFIED, ChainEnd
from synth.synthesizers.reflection.equal_budget import Unit, compared
from synth.synthesizers.reflection.equal_budget_table import in_words
from synth.synthesizers.reflection.price import CHARACTERS_PER_TOKEN

Chains = Sequence[ChainEnd]


def method_report(
    ledger: Ledger,
    stage: str,
    chains: Chains,
    *,
    reflector: str,
    gold_informed: bool,
    seed: int,
    likelier: int = 0,
    notes: Sequence[str] = (),
) -> Mapping[str, Any]:
    """The stage's line of the funnel: how many trials were attempted, how many retries stood up,
    and why the others did not.

    `likelier` of the retries are rejected because their guidance made them too likely.
    """
    reasons = Counter(chain.reason for chain in chains)
    verified = reasons.pop(VERIFIED, 0) - likelier
    reasons += Counter({"leak:likelihood": likelier})
    tagged = " (gold_informed: it looks at what the check found wrong)" if gold_informed else ""
    also = [f"reflector {reflector}{tagged}", _spent(ledger, stage, chains), *notes]
    report: dict[str, Any] = {
        "kind": "method",
        "unit": "trials",
        "attempted": len(chains),
        "verified": verified,
        "rejected": dict(reasons),
        "reflector": reflector,
        "gold_informed": gold_informed,
        "priced_tokens": sum(chain.price for chain in chains),
    }
    units = units_of(ledger, chains)
    if units:
        report["equal_budget"] = compared(
            units, gold_informed=gold_informed, reflector=reflector, seed=seed
        )
        also += in_words(report["equal_budget"])
    return {**report, "also": also}


def units_of(ledger: Ledger, chains: Chains) -> list[Unit]:
    """The failed trials whose arms were played."""
    with connect(ledger) as connection:
        sql = (
            "SELECT DISTINCT task_id FROM trajectories WHERE synthesizer = 'rollout' AND "
            "outcome = 'success'"
        )
        solved = {task_id for (task_id,) in connection.execute(sql).fetchall()}
    played = [chain for chain in chains if chain.arms]
    return [
        Unit(
            chain.task,
            chain.task in solved,
            msgspec.convert(chain.arms, dict[str, ArmResult]),
        )
        for chain in sorted(played, key=lambda chain: chain.chain)
    ]


def _spent(ledger: Ledger, stage: str, chains: Chains) -> str:
    """What was paid for, or an estimate where nothing was: scripts and rules use no tokens."""
    with connect(ledger) as connection:
        sql = (
            "SELECT sum(model_calls), sum(prompt_tokens + completion_tokens), sum(cost_usd) "
            "FROM spending WHERE stage = ?"
        )
        ((calls, tokens, dollars),) = connection.execute(sql, [stage]).fetchall()
    if calls:
        return (
            f"cost {short_count(tokens)} tokens in "
            f"{counted_noun(calls, 'call')}{'' if dollars is None else f', ${dollars:,.4g}'}"
        )
    estimate = short_count(round(sum(chain.price for chain in chains)))
    return (
        f"cost nothing: no model was asked (with one about {estimate} priced tokens, at "
        f"{CHARACTERS_PER_TOKEN} characters a token)"
    )
