"""Which modes are drawn, and what became of the mix: weights apply after verification, since modes
differ in what they break.
"""

from collections.abc import Collection, Mapping
from random import Random

LEAST_YIELD = 0.1
"""Below it a mode is drawn no more often: one that hardly ever breaks a run would take all
attempts.
"""
HOPELESS_AFTER = 30
"""Attempts of which none was verified, after which a mode is not drawn any more."""
PRIOR_ATTEMPTS = 2
"""With half of them verified: what a mode is thought to yield before it was tried."""


def yields(attempted: Mapping[str, int], verified: Mapping[str, int]) -> dict[str, float]:
    """Share of a mode's attempts that were verified, shrunk towards one half by two attempts; 0 for
    one that is hopeless.
    """
    return {mode: _shrunk(count, verified.get(mode, 0)) for mode, count in attempted.items()}


def _shrunk(count: int, verified: int) -> float:
    return (
        0.0
        if count >= HOPELESS_AFTER and not verified
        else (verified + PRIOR_ATTEMPTS / 2) / (count + PRIOR_ATTEMPTS)
    )


def draw_mode(
    possible: Collection[str],
    weights: Mapping[str, float],
    yielded: Mapping[str, float],
    random: Random,
) -> str | None:
    """One of the possible modes by weight / yield; None where all weigh nothing or are hopeless."""
    modes = sorted(
        mode for mode in possible if weights.get(mode, 0) > 0 and yielded.get(mode, 0.5) > 0
    )
    if not modes:
        return None
    odds = [weights[mode] / max(yielded.get(mode, 0.5), LEAST_YIELD) for mode in modes]
    return random.choices(modes, odds)[0]


def shares(counts: Mapping[str, float]) -> dict[str, float]:
    """Counts or weights as shares of their sum; empty where that is 0."""
    total = sum(counts.values())
    return {mode: count / total for mode, count in counts.items()} if total else {}


def mix_line(weights: Mapping[str, float], verified: Mapping[str, int]) -> str:
    """Target and achieved share of each mode in percent, and the distance of the two: half the sum
    of the differences.
    """
    target, achieved = shares(weights), shares(verified)
    modes = sorted({*target, *achieved})
    each = ", ".join(
        f"{mode} {100 * target.get(mode, 0):.0f}/{100 * achieved.get(mode, 0):.0f}"
        for mode in modes
    )
    distance = sum(abs(target.get(mode, 0) - achieved.get(mode, 0)) for mode in modes) / 2
    return f"mix in % (target/achieved): {each}; {distance:.2f} apart"
