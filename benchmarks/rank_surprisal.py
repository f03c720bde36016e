"""`python -m benchmarks.rank_surprisal`: how often a choice within a task takes a worse candidate
than it should, on drawn ratios.
"""

import sys
from collections.abc import Sequence
from math import exp
from random import Random

from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from synth.filters.rank_surprisal.measure import RankSurprisalConfig
from synth.filters.rank_surprisal.ratio import Sums
from synth.filters.rank_surprisal.within_task import RankedTrial, selected

TASKS, TURNS, TOKENS = 600, 12, 60
SPREAD = 0.08
"""Of the candidates' true log ratios; that of a turn's, NOISE, is such that the mean of 12 turns
varies twice as much (rigor.md 10.1).
"""
NOISE = 2 * SPREAD * TURNS**0.5


def _drawn(rng: Random, count: int, spread: float) -> tuple[list[float], list[RankedTrial]]:
    true = [rng.gauss(0, spread) for _ in range(count)]
    return true, [
        RankedTrial(
            f"c{at}",
            (f"p{at % 2}", None),
            True,
            tuple(
                Sums(TOKENS * exp(log + rng.gauss(0, NOISE)), float(TOKENS), TOKENS)
                for _ in range(TURNS)
            ),
            ("w", "h"),
        )
        for at, log in enumerate(true)
    ]


def _share(hits: Sequence[bool]) -> float:
    return 100 * sum(hits) / max(len(hits), 1)


def main() -> int:
    """Plain minimum against the rule, among 4 candidates of two policies, with a true spread of
    half the noise and with none.
    """
    others = CpuOfOthers()
    rng = Random(7)
    config = RankSurprisalConfig(select=True)
    minimum: list[bool] = []
    best_dropped: list[bool] = []
    chosen: list[bool] = []
    dropped_by_chance: list[bool] = []
    for _ in range(TASKS):
        true, candidates = _drawn(rng, 4, SPREAD)
        best = f"c{min(range(4), key=true.__getitem__)}"
        verdicts = selected(candidates, config)
        minimum.append(min(candidates, key=lambda one: one.ratio).identity == best)
        best_dropped.append(verdicts[best].keep is False)
        chosen.append(any(verdict.keep for verdict in verdicts.values()))
        _, alike = _drawn(rng, 2, 0.0)
        dropped_by_chance.append(
            any(verdict.keep is False for verdict in selected(alike, config).values())
        )
    figures = [
        Figure("the plain minimum of 4 is the truly lowest", _share(minimum), "%"),
        Figure("tasks in which the rule leaves one candidate", _share(chosen), "%"),
        Figure(
            "the rule drops the truly lowest of 4", _share(best_dropped), "%", Target("at most", 15)
        ),
        Figure(
            "the rule drops one of 2 that are alike",
            _share(dropped_by_chance),
            "%",
            Target("at most", 10),
        ),
    ]
    how = (
        f"{TASKS} drawn tasks, {TURNS} turns of {TOKENS} tokens each; true spread half of the "
        "noise, or none."
    )
    return shown(Report("Choice within a task by rank-surprisal ratio", figures, how), others)


if __name__ == "__main__":
    sys.exit(main())
