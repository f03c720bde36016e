"""Rounds of a filter stage: where faults kept measures from being taken, a rerun of the flow takes
those again, and decides anew.
"""

from collections.abc import Mapping
from typing import Any

from synth.engine.runner import key_of, plain
from synth.ledger.ledger import Ledger
from synth.schemas.canonical import content_hash


def open_round(
    ledger: Ledger, name: str, settings: Mapping[str, Any], inputs: str
) -> tuple[str, int]:
    """(a stage's inputs, faults of the round before) of the first round that did not end with
    faults, or has not ended.

    Each round has a key of its own, so that what a former one decided is in no view of the current
    flow.
    """
    settings, found, faults, number = plain(settings), inputs, 0, 0
    while (
        report := ledger.state.done.get((name, key_of(name, settings, found)))
    ) is not None and report.get("faults"):
        number, faults = number + 1, report["faults"]
        found = content_hash([inputs, number])
    return found, faults
