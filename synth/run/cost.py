"""cost.json: what every stage, synthesizer and model used, over all attempts that the ledger holds."""

from collections.abc import Mapping
from typing import Any

from schemas.trajectory import Usage
from synth.ledger.ledger import Ledger
from synth.ledger.views import connect

_COUNTS = ("model_calls", "prompt_tokens", "cached_tokens", "completion_tokens")
_SUMS = ", ".join(["count(*) AS attempts", *(f"sum({name}) AS {name}" for name in _COUNTS), "sum(cost_usd) AS cost_usd"])


def cost(ledger: Ledger) -> Mapping[str, Any]:
    """Sums over `trajectories_all`; cost_usd is null where no price is known."""
    with connect(ledger) as connection:
        relation = connection.execute(
            f"SELECT stage, synthesizer, policy, model, {_SUMS} FROM trajectories_all WHERE stage <> 'import' GROUP BY ALL ORDER BY ALL"
        )
        names = [column[0] for column in relation.description]
        rows = [dict(zip(names, row, strict=True)) for row in relation.fetchall()]
    total: dict[str, Any] = {name: sum(row[name] or 0 for row in rows) for name in ("attempts", *_COUNTS)}
    prices = [row["cost_usd"] for row in rows if row["cost_usd"] is not None]
    return {"total": total | {"cost_usd": sum(prices) if prices else None}, "by": rows}


def spent(ledger: Ledger) -> Usage:
    """What all attempts in the ledger have used."""
    total = cost(ledger)["total"]
    return Usage(total["prompt_tokens"], total["completion_tokens"], total["cached_tokens"], total["model_calls"], total["cost_usd"])
