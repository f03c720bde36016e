"""What a row's label or verdict rests on, as one word in the column `evidence`."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

from synth.ledger.log.state import IMPORT
from synth.pairs.kept_steps import PASSED
from synth.pairs.observed.pair import ObservedPair
from synth.pairs.observed.sides import ObservedSide
from synth.schemas import KtoLabel, PreferencePair, PrmLabel, Tier, Trajectory

Evidence = Literal["exact", "tested", "counted", "declared", "observed"]
"""The strongest first. `exact`: a decisive rule, or a flip of a deterministic policy. `tested`: an
accepted test. `counted`: continuations that no test accepted. `declared`: a verdict that came with
the data. `observed`: outcomes of trials.
"""
_FLIP = "flip_deterministic"


def evidence_of(row: Any) -> Evidence:
    """Of a row's label or, where it is a chat, of its trajectory's verdict. Raises `TypeError` for
    rows of other kinds.
    """
    about = row.trajectory if hasattr(row, "trained") else getattr(row, "label", None)
    match about:
        case PreferencePair():
            return "exact" if about.evidence.method == _FLIP else "tested"
        case KtoLabel():
            return "exact" if about.method == _FLIP else "tested"
        case PrmLabel(tier=Tier.GOLD_RULE):
            return "observed" if about.rule == PASSED else "exact"
        case PrmLabel(tier=Tier.STATISTICAL):
            return "observed"
        case PrmLabel():
            if about.label is None:
                return "counted"
            return "exact" if about.method == _FLIP else "tested"
        case ObservedPair() | ObservedSide():
            return "observed"
        case Trajectory():
            # the check of an import was its source's, and nobody has run it here
            checked = about.check_result is not None and about.synthesizer != IMPORT
            return "exact" if checked else "declared"

    raise TypeError(f"{type(row).__name__} has no evidence")


def told(counts: Mapping[str, int]) -> str:
    """What the card says of them, the most frequent first."""
    each = ", ".join(f"{count:,} {name}" for name, count in Counter(counts).most_common())
    return f"Evidence of the rows (column `evidence`): {each}."
