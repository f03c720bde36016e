"""What a stage has cost so far: its episodes and the questions that it asked of roles."""

from collections.abc import Mapping
from typing import Any

from synth.ledger.ledger import Ledger
from synth.ledger.log.state import evidence_key
from synth.ledger.views import connect


def stage_cost(ledger: Ledger, stage_key: str) -> Mapping[str, Any]:
    """Episodes, tokens and money of all runs and questions of the stage."""
    keys = f"('{stage_key}', '{evidence_key(stage_key)}')"
    use = "sum(coalesce(prompt_tokens, 0) + coalesce(completion_tokens, 0)), sum(cost_usd)"
    with connect(ledger) as connection:
        ((episodes, tokens, usd),) = connection.execute(
            f"SELECT count(*), {use} FROM trajectories_all WHERE stage_key IN {keys}"
        ).fetchall()
        ((asked, more),) = connection.execute(
            f"SELECT {use} FROM replies_all WHERE stage_key IN {keys}"
        ).fetchall()
    costs = [value for value in (usd, more) if value is not None]
    return {
        "episodes": episodes,
        "tokens": int((tokens or 0) + (asked or 0)),
        "usd": sum(costs) if costs else None,
    }
