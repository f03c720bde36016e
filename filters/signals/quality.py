"""The score of 0 to 100 that the counts of signals come to."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from synth.filters.signals.rows import Signal, SignalRow, severity

CATEGORIES = (
    "misalignment",
    "stagnation",
    "disengagement",
    "satisfaction",
    "failure",
    "loops",
    "exhaustion",
)
_LABELS = ((75, "excellent"), (60, "good"), (40, "neutral"), (25, "poor"), (0, "severe"))
_SATISFACTION = (0.0, 0.6, 0.8, 0.95)
_MISALIGNED = 0.3


class Quality(msgspec.Struct, frozen=True):
    """`score` is None where nothing was said or answered that could tell; counts and severities by
    category.
    """

    score: float | None
    label: str
    counts: dict[str, int]
    severities: dict[str, int]


def quality(rows: Sequence[SignalRow], signals: Sequence[Signal], *, corrected: bool) -> Quality:
    """50, plus 20 for satisfaction, less disengagement, misalignment, stagnation, failures (8
    each), loops (5), exhaustion (3).

    0 where a person asked for somebody else or gave up, or where disengagement or stagnation is
    severe. `corrected`: recovered failures
    do not count, and a transcript with one message of a person and no answer of a tool has no
    score, where the rule says 50.
    """
    counted = [signal for signal in signals if signal.what != "recovered"] if corrected else signals
    counts = Counter(signal.category for signal in counted)
    severities = {category: severity(counts[category]) for category in CATEGORIES}
    humans = sum(row.role == "human" for row in rows)
    if corrected and humans <= 1 and not any(row.role == "answer" for row in rows):
        return Quality(None, "silent", dict(counts), severities)
    kinds = {signal.kind for signal in counted}
    if (
        kinds & {"disengagement.escalation", "disengagement.quit"}
        or max(severities["disengagement"], severities["stagnation"]) >= 3
    ):
        return Quality(0.0, "severe", dict(counts), severities)
    score = (
        50 + 20 * _SATISFACTION[min(counts["satisfaction"], 3)] - 10 * severities["disengagement"]
    )
    if humans and counts["misalignment"] / humans > _MISALIGNED:
        score -= 15
    if counts["stagnation"] > 2:
        score -= 8 * severities["stagnation"]
    score -= 8 * counts["failure"] + 5 * counts["loops"] + 3 * counts["exhaustion"]
    score = min(max(score, 0.0), 100.0)
    return Quality(
        score, next(label for least, label in _LABELS if score >= least), dict(counts), severities
    )
