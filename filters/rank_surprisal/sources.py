"""Sources of trajectories (teachers, methods, policies) ranked by their data sets' ratio under a
student, with intervals over tasks.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from random import Random

import msgspec
import numpy as np
import numpy.typing as npt

from synth.filters.rank_surprisal.ratio import LEAST_SURPRISAL
from synth.stats.ranks import spearman

RESAMPLES = 1000
PROXY_FROM = 0.7
"""Of |rho| with length, copied share or loss tokens, above which the ratio says little else
(rigor.md 10.1).
"""
Means = tuple[float, float]
"""Rank and nats, per token."""
Array = npt.NDArray[np.float64]


class ScoredRow(msgspec.Struct, frozen=True):
    """A trajectory: where it comes from, and what was measured of it; `decision` are the means of
    its decisions alone, `why` says why nothing was measured.
    """

    source: str
    task: str
    ratio: float | None = None
    means: Means | None = None
    tokens: int = 0
    decision: Means | None = None
    chat_tokens: int | None = None
    copied_share: float | None = None
    loss_tokens: int | None = None
    why: str | None = None


class Interval(msgspec.Struct, frozen=True):
    """A value and its central 95 % interval, None with fewer than two tasks."""

    value: float
    low: float | None = None
    high: float | None = None


class ScoreSource(msgspec.Struct, frozen=True):
    """One source; `decision` is its ratio over decisions alone.

    `above_first`: on the tasks that it shares with the first source, by how much it lies above that
    (paired by task).
    """

    name: str
    ratio: Interval | None
    decision: float | None
    trajectories: int
    tasks: int
    tokens: int
    shared_tasks: int
    above_first: Interval | None
    not_scored: Mapping[str, int]


class Ranking(msgspec.Struct, frozen=True):
    """The sources, the one with the lowest ratio first; `correlations` of the ratio with what it
    may stand for, over trajectories.
    """

    sources: Sequence[ScoreSource]
    correlations: Mapping[str, float | None]

    @property
    def proxies(self) -> list[str]:
        """What the ratio goes with so closely that it may stand for nothing else."""
        known = {name: rho for name, rho in self.correlations.items() if rho is not None}
        return [name for name, rho in known.items() if abs(rho) > PROXY_FROM]


def ranking(rows: Sequence[ScoredRow], seed: int = 0) -> Ranking:
    """Ranks by the ratio of summed means; those of which nothing was scored come last.

    `seed` draws other intervals; values and order stay. Each source but the first is compared with
    the first on the tasks that both have, since some tasks are more surprising than others.
    """
    by_source: dict[str, list[ScoredRow]] = defaultdict(list)
    for row in rows:
        by_source[row.source].append(row)

    tasks = {name: _by_task(found) for name, found in by_source.items()}

    def place(name: str) -> tuple[bool, float, str]:
        return not tasks[name], float(_ratios(_table(tasks[name].values()))), name

    order = sorted(by_source, key=place)
    first = tasks[order[0]] if order else {}
    sources = [_source(name, by_source[name], tasks[name], first, seed) for name in order]

    return Ranking(sources, correlations(rows))


def _by_task(rows: Sequence[ScoredRow]) -> dict[str, Array]:
    """Of each task: its trajectories' means, summed, so that a long one counts as a short one."""
    found: dict[str, Array] = defaultdict(lambda: np.zeros(2))
    for row in rows:
        if row.means is not None:
            found[row.task] += row.means

    return dict(found)


def _table(means: Iterable[Array | Means | None]) -> Array:
    """[so many, 2], rank and nats; what is not known is left out."""
    return np.array([one for one in means if one is not None]).reshape(-1, 2)


def _ratios(table: Array) -> Array:
    """Of summed means; [..., so many, 2] gives [...]. A source that its student knows by heart has
    the largest.
    """
    rank, nll = np.moveaxis(table.sum(axis=-2), -1, 0)
    ratios: Array = rank / np.maximum(nll, LEAST_SURPRISAL)
    return ratios


def _source(
    name: str,
    rows: Sequence[ScoredRow],
    tasks: Mapping[str, Array],
    first: Mapping[str, Array],
    seed: int,
) -> ScoreSource:
    """A source by its rows and the summed means of its tasks, beside those of the first source."""
    shared = sorted(tasks.keys() & first.keys())
    own, other = (_table(found[task] for task in shared) for found in (tasks, first))
    decisions = _table(row.decision for row in rows)

    return ScoreSource(
        name,
        ratio=_interval(_table(tasks.values()), None, seed),
        decision=float(_ratios(decisions)) if len(decisions) else None,
        trajectories=sum(row.ratio is not None for row in rows),
        tasks=len(tasks),
        tokens=sum(row.tokens for row in rows),
        shared_tasks=len(shared),
        above_first=None if tasks is first else _interval(own, other, seed),
        not_scored=dict(Counter(row.why for row in rows if row.why is not None)),
    )


def _interval(own: Array, other: Array | None, seed: int) -> Interval | None:
    """Of a ratio, or of the difference of two over the same tasks, which are drawn again with
    replacement; None without tasks.
    """
    count = len(own)
    if not count:
        return None

    # paired: the same tasks are drawn on both sides
    def values(drawn: npt.NDArray[np.int64]) -> Array:
        return _ratios(own[drawn]) - (0.0 if other is None else _ratios(other[drawn]))

    value = float(values(np.arange(count)))
    if count < 2:
        return Interval(value)

    # by name of the experiment and number of tasks, so that a page can be made again
    rng = Random(f"rank surprisal {seed} {count}")
    draws = np.array([rng.choices(range(count), k=count) for _ in range(RESAMPLES)])
    ordered, tail = np.sort(values(draws)), round(0.025 * RESAMPLES)

    return Interval(value, float(ordered[tail]), float(ordered[-1 - tail]))


def correlations(rows: Sequence[ScoredRow]) -> dict[str, float | None]:
    """Spearman's rho of the ratio with the length of the chat, the copied share and the tokens that
    carry loss.
    """
    ratios = [row.ratio for row in rows]
    return {
        "length": spearman(ratios, [row.chat_tokens for row in rows]),
        "copied share": spearman(ratios, [row.copied_share for row in rows]),
        "loss tokens": spearman(ratios, [row.loss_tokens for row in rows]),
    }
