"""What came of a stage that collects trajectories, counted."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from synth.engine.closing import commonest
from synth.ledger.ledger import Ledger


def episodes_report(ledger: Ledger, stage: str) -> Mapping[str, Any]:
    """Attempts by outcome and by fault, and the commonest details of the faults."""
    outcomes: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    details: Counter[str] = Counter()
    for trajectory in ledger.records([stage]):
        outcomes[trajectory["outcome"]] += 1
        if trajectory["fault"] is not None:
            faults[trajectory["fault"]] += 1
            details[trajectory["fault_detail"] or "unknown"] += 1
    return {
        "kind": "episodes",
        "outcomes": dict(outcomes),
        "faults": dict(faults),
        "details": commonest(details),
    }
