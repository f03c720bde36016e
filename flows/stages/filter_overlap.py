"""How the filters of a stage stand to each other: what each alone drops, how far two drop the same,
and what all do to the composition.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import msgspec

from synth.ledger.views import LedgerConnection

LIKE = 0.5
"""Share of common drops from which two filters are told in the funnel to drop the same."""

TRAITS = ("synthesizer", "outcome", "env")
"""Columns by which the composition is counted."""

_ONLY_BY = """
SELECT filter, count(*)
FROM (
    SELECT trajectory_id, any_value(filter) AS filter
    FROM decisions_all
    WHERE stage_key = ? AND keep = false
    GROUP BY trajectory_id
    HAVING count(*) = 1
)
GROUP BY 1
ORDER BY 1
"""

# both orders of each pair; the pair itself is taken in the order of the stage's filters
_BOTH = """
SELECT a.filter, b.filter,
    count(*),
    count(*) FILTER (NOT a.keep),
    count(*) FILTER (NOT b.keep),
    count(*) FILTER (NOT a.keep AND NOT b.keep)
FROM decisions_all AS a JOIN decisions_all AS b USING (trajectory_id)
WHERE a.stage_key = $key AND b.stage_key = $key
    AND a.keep IS NOT NULL AND b.keep IS NOT NULL
    AND a.filter <> b.filter
GROUP BY 1, 2
"""

# undefined keeps: a filter that cannot tell is no reason to drop
_KEPT = """
SELECT trajectory_id, bool_and(coalesce(keep, true)) AS kept
FROM decisions_all
WHERE stage_key = ?
GROUP BY 1
"""

_SIZES = """
count(*) AS trajectories,
count(DISTINCT task_id) AS tasks,
round(coalesce(avg(n_turns), 0), 2) AS mean_turns,
round(coalesce(avg(n_tool_calls), 0), 2) AS mean_calls,
coalesce(sum(completion_tokens), 0)::BIGINT AS completion_tokens
"""


class FilterOverlap(msgspec.Struct, frozen=True):
    """Of two filters over the trajectories on which both decided: what each drops, both drop, and
    Cohen's kappa (None: undefined).
    """

    one: str
    other: str
    decided: int
    dropped_by_one: int
    dropped_by_other: int
    dropped_by_both: int
    kappa: float | None

    @property
    def overlap(self) -> float:
        """Common drops over all drops (Jaccard); 0 where neither drops anything."""
        either = self.dropped_by_one + self.dropped_by_other - self.dropped_by_both
        return self.dropped_by_both / either if either else 0.0


def only_by(connection: LedgerConnection, stage_key: str) -> dict[str, int]:
    """Trajectories that one filter drops and no other, by filter."""
    return dict(connection.execute(_ONLY_BY, [stage_key]).fetchall())


def agreements(
    connection: LedgerConnection, stage_key: str, names: Sequence[str]
) -> list[FilterOverlap]:
    """One per pair of filters that both decided on something."""
    rows = connection.execute(_BOTH, {"key": stage_key}).fetchall()
    found = {(one, other): counts for one, other, *counts in rows}
    pairs = (pair for pair in combinations(names, 2) if pair in found)

    return [_overlap(one, other, *found[one, other]) for one, other in pairs]


def _overlap(one: str, other: str, *counts: int) -> FilterOverlap:
    """Of two filters, from the counts in the order of the query."""
    decided, by_one, by_other, by_both = counts
    kappa = _kappa(decided, by_one, by_other, by_both)
    return FilterOverlap(one, other, decided, by_one, by_other, by_both, kappa)


def _kappa(decided: int, one: int, other: int, both: int) -> float | None:
    """Cohen's kappa: agreement beyond what chance gives, over what there is beyond chance; None
    where chance alone agrees always.
    """
    agreed = (both + decided - one - other + both) / decided
    chance = (one * other + (decided - one) * (decided - other)) / decided**2
    return None if chance >= 1 else (agreed - chance) / (1 - chance)


def compositions(connection: LedgerConnection, stage_key: str) -> Mapping[str, Mapping[str, Any]]:
    """What the trajectories are before and after all filters: how many, of how many tasks, how
    long, and by trait.
    """
    found: dict[str, dict[str, Any]] = {}

    for when, which in (("before", "true"), ("after", "kept")):
        rows = f"trajectories_all JOIN ({_KEPT}) USING (trajectory_id) WHERE {which}"
        sizes = connection.execute(f"SELECT {_SIZES} FROM {rows}", [stage_key])
        names = [column[0] for column in sizes.description]
        found[when] = dict(zip(names, sizes.fetchall()[0], strict=True))
        for trait in TRAITS:
            sql = f"SELECT {trait}, count(*) FROM {rows} GROUP BY 1 ORDER BY 2 DESC, 1"
            counts = connection.execute(sql, [stage_key]).fetchall()
            found[when][trait] = {str(value): count for value, count in counts}

    return found


def overlap_lines(
    only: Mapping[str, int],
    pairs: Sequence[FilterOverlap],
    before_after: Mapping[str, Mapping[str, Any]],
) -> list[str]:
    """What the funnel says of it."""
    lines = []
    if only:
        named = ", ".join(f"{count:,} {name}" for name, count in only.items())
        lines.append(f"dropped by one filter and no other: {named}")

    alike = [pair for pair in pairs if pair.overlap >= LIKE]
    lines += [
        f"{pair.one} and {pair.other} drop the same in {pair.overlap:.0%} of their drops "
        f"({pair.dropped_by_both:,} by both)"
        for pair in sorted(alike, key=lambda pair: -pair.overlap)[:3]
    ]
    before, after = before_after["before"], before_after["after"]

    if 0 < after["trajectories"] < before["trajectories"]:
        lines.append(
            f"tasks {before['tasks']:,} -> {after['tasks']:,}, turns per trajectory "
            f"{before['mean_turns']:g} -> {after['mean_turns']:g}, "
            f"calls {before['mean_calls']:g} -> {after['mean_calls']:g}"
        )

    return lines
