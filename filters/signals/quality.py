"""The score of 0 to 100 that the counts of signals come to.

The weights are those of the published rules; what the score knows of success and failure on real
trajectories stands in docs/filters.md.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from synth.filters.signals.execution import RECOVERED
from synth.filters.signals.patterns import KINDS
from synth.filters.signals.rows import Signal, SignalRow

# from so many points on
_LABELS = ((75, "excellent"), (60, "good"), (40, "neutral"), (25, "poor"), (0, "severe"))
_SATISFACTION = (0.0, 0.6, 0.8, 0.95)
"""By count; from 3 on the last."""
_SEVERITIES = (0, 1, 1, 2, 2, 3)
"""By count; from 5 on the last."""
_PENALTIES = {"failure": 8, "loops": 5, "exhaustion": 3}
_MISALIGNED = 0.3
"""Share of a person's messages."""


class SignalsFound(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the score stands on; counts and severities by category, `empty` without rows."""

    label: str
    counts: Mapping[str, int] | None = None
    severities: Mapping[str, int] | None = None
    signals: tuple[Signal, ...] | None = None


def quality(
    rows: Sequence[SignalRow], signals: Sequence[Signal], *, corrected: bool
) -> tuple[float | None, SignalsFound]:
    """50, plus 20 for satisfaction, less disengagement, misalignment, stagnation, failures (8
    each), loops (5), exhaustion (3).

    0 where a person asked for somebody else or gave up, or where disengagement or stagnation is
    severe. `corrected`: recovered failures do not count, and a transcript with one message of a
    person and no answer of a tool has no score, where the rule says 50.
    """
    # a failure that the agent made good is told, and costs nothing
    counted = [signal for signal in signals if not (corrected and signal.what == RECOVERED)]
    counts = Counter(signal.category for signal in counted)
    severities = {category: _SEVERITIES[min(counts[category], 5)] for category in KINDS}

    about = SignalsFound("severe", dict(counts), severities, tuple(signals))

    humans = sum(row.role == "human" for row in rows)

    if corrected and humans <= 1 and not any(row.role == "answer" for row in rows):
        return None, replace(about, label="silent")

    # whoever asks for somebody else, or gives up, was not served, whatever else was said
    left = {"disengagement.escalation", "disengagement.quit"} & {one.kind for one in counted}
    if left or max(severities["disengagement"], severities["stagnation"]) >= 3:
        return 0.0, about

    score = _score(counts, severities, humans)
    return score, replace(about, label=next(name for least, name in _LABELS if score >= least))


def _score(counts: Counter[str], severities: Mapping[str, int], humans: int) -> float:
    """What the counts come to of a person who was served; `humans`: the person's messages."""
    score = 50 + 20 * _SATISFACTION[min(counts["satisfaction"], 3)]
    score -= 10 * severities["disengagement"]
    if humans and counts["misalignment"] / humans > _MISALIGNED:
        score -= 15

    if counts["stagnation"] > 2:
        score -= 8 * severities["stagnation"]

    score -= sum(each * counts[category] for category, each in _PENALTIES.items())
    return min(max(score, 0.0), 100.0)
