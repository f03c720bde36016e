"""Sources of trajectories (teachers, methods, policies) ranked by their data sets' ratio under a
student, with intervals over tasks.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from random import Random

import msgspec

from synth.filters.rank_surprisal.ratio import LEAST_SURPRISAL, Sums, dataset_ratio
from synth.stats.ranks import spearman

RESAMPLES = 1000
PROXY_FROM = 0.7
"""Of |rho| with length, copied share or loss tokens, above which the ratio says little else
(rigor.md 10.1).
"""
Means = tuple[float, float]
"""Of a source on a task: its trajectories' mean ranks and mean surprisals, summed."""


class ScoredRow(msgspec.Struct, frozen=True):
    """A trajectory: where it comes from, and what was measured of it; `why` says why nothing
    was.
    """

    source: str
    task: str
    sums: Sums | None = None
    decision: Sums | None = None
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
    """One source. `above_first`: on the tasks that it shares with the first source, by how much it
    lies above that (paired by task).
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
        return [
            name
            for name, rho in self.correlations.items()
            if rho is not None and abs(rho) > PROXY_FROM
        ]


def ranking(rows: Sequence[ScoredRow], seed: int = 0) -> Ranking:
    """Ranks by the ratio of summed means; those of which nothing was scored come last."""
    by_source: dict[str, list[ScoredRow]] = defaultdict(list)
    for row in rows:
        by_source[row.source].append(row)
    means = {name: _by_task(found) for name, found in by_source.items()}
    order = sorted(
        by_source, key=lambda name: (not means[name], _ratio(list(means[name].values())), name)
    )
    first = means[order[0]] if order else {}
    sources = [_source(name, by_source[name], means[name], first, seed) for name in order]
    return Ranking(sources, correlations(rows))


def _by_task(rows: Sequence[ScoredRow]) -> dict[str, Means]:
    found: dict[str, Means] = {}
    for row in rows:
        if row.sums is not None and row.sums.tokens:
            rank, nll = found.get(row.task, (0.0, 0.0))
            found[row.task] = (rank + row.sums.mean_rank, nll + row.sums.mean_nll)
    return found


def _ratio(means: Sequence[Means]) -> float:
    return sum(rank for rank, _ in means) / max(sum(nll for _, nll in means), LEAST_SURPRISAL)


def _source(
    name: str,
    rows: Sequence[ScoredRow],
    means: Mapping[str, Means],
    first: Mapping[str, Means],
    seed: int,
) -> ScoreSource:
    shared = sorted(means.keys() & first.keys())
    own, other = [means[task] for task in shared], [first[task] for task in shared]
    above = None
    if means is not first and shared:
        draws = _draws(len(shared), seed)
        differences = [
            _ratio([own[i] for i in draw]) - _ratio([other[i] for i in draw]) for draw in draws
        ]
        above = _interval(_ratio(own) - _ratio(other), differences)
    tasks = list(means.values())
    ratio = None
    if tasks:
        ratio = _interval(
            _ratio(tasks), [_ratio([tasks[i] for i in draw]) for draw in _draws(len(tasks), seed)]
        )
    scored = [row.sums for row in rows if row.sums is not None]
    return ScoreSource(
        name,
        ratio,
        dataset_ratio([row.decision for row in rows if row.decision is not None]),
        len(scored),
        len(tasks),
        sum(one.tokens for one in scored),
        len(shared),
        above,
        dict(Counter(row.why for row in rows if row.why is not None)),
    )


def _draws(count: int, seed: int) -> list[list[int]]:
    """Places drawn with replacement; none where fewer than two would say anything about noise."""
    rng = Random(f"rank surprisal {seed} {count}")
    return [rng.choices(range(count), k=count) for _ in range(RESAMPLES)] if count > 1 else []


def _interval(value: float, drawn: Sequence[float]) -> Interval:
    if not drawn:
        return Interval(value)
    ordered = sorted(drawn)
    tail = round(0.025 * len(ordered))
    return Interval(value, ordered[tail], ordered[-1 - tail])


def correlations(rows: Sequence[ScoredRow]) -> dict[str, float | None]:
    """Spearman's rho of the ratio with the length of the chat, the copied share and the tokens that
    carry loss.
    """
    scored = [
        (row.sums.ratio, row.chat_tokens, row.copied_share, row.loss_tokens)
        for row in rows
        if row.sums is not None
    ]
    found: dict[str, float | None] = {}
    for place, name in enumerate(("length", "copied share", "loss tokens"), start=1):
        pairs = [
            (one[0], float(known))
            for one in scored
            if one[0] is not None and (known := one[place]) is not None
        ]
        found[name] = spearman([ratio for ratio, _ in pairs], [known for _, known in pairs])
    return found
