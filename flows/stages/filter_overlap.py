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
    dropped = (
        "SELECT trajectory_id, any_value(filter) AS filter FROM decisions_all WHERE stage_key "
        "= ? AND keep = false"
    )
    sql = (
        f"SELECT filter, count(*) FROM ({dropped} GROUP BY trajectory_id HAVING count(*) = 1) "
        "GROUP BY 1 ORDER BY 1"
    )
    return dict(connection.execute(sql, [stage_key]).fetchall())


def agreements(
    connection: LedgerConnection, stage_key: str, names: Sequence[str]
) -> list[FilterOverlap]:
    """One per pair of filters that both decided on something."""
    sql = """
        SELECT a.filter, b.filter, count(*), count(*) FILTER (NOT a.keep), count(*) FILTER (NOT b.keep),
            count(*) FILTER (NOT a.keep AND NOT b.keep)
        FROM decisions_all AS a JOIN decisions_all AS b USING (trajectory_id)
        WHERE a.stage_key = $key AND b.stage_key = $key AND a.keep IS NOT NULL AND b.keep IS NOT NULL AND a.filter <> b.filter
        GROUP BY 1, 2
    """
    found = {
        (one, other): counts
        for one, other, *counts in connection.execute(sql, {"key": stage_key}).fetchall()
    }
    pairs = [pair for pair in combinations(names, 2) if pair in found]
    return [_agreement(one, other, found[(one, other)]) for one, other in pairs]


def _agreement(one: str, other: str, counts: Sequence[int]) -> FilterOverlap:
    decided, by_one, by_other, by_both = counts
    return FilterOverlap(
        one, other, decided, by_one, by_other, by_both, _kappa(decided, by_one, by_other, by_both)
    )


def _kappa(decided: int, one: int, other: int, both: int) -> float | None:
    agreed = (both + decided - one - other + both) / decided
    chance = (one * other + (decided - one) * (decided - other)) / decided**2
    return None if chance >= 1 else (agreed - chance) / (1 - chance)


def compositions(connection: LedgerConnection, stage_key: str) -> Mapping[str, Mapping[str, Any]]:
    """What the trajectories are before and after all filters: how many, of how many tasks, how
    long, and by trait.
    """
    kept = (
        "SELECT trajectory_id FROM decisions_all WHERE stage_key = ? GROUP BY 1 HAVING "
        "bool_and(coalesce(keep, true))"
    )
    every = "SELECT DISTINCT trajectory_id FROM decisions_all WHERE stage_key = ?"
    return {
        when: _composition(connection, which, stage_key)
        for when, which in (("before", every), ("after", kept))
    }


def _composition(connection: LedgerConnection, which: str, stage_key: str) -> Mapping[str, Any]:
    rows = f"trajectories_all WHERE trajectory_id IN ({which})"
    numbers = (
        "count(*), count(DISTINCT task_id), coalesce(avg(n_turns), 0), "
        "coalesce(avg(n_tool_calls), 0), coalesce(sum(completion_tokens), 0)"
    )
    ((count, tasks, turns, calls, tokens),) = connection.execute(
        f"SELECT {numbers} FROM {rows}", [stage_key]
    ).fetchall()
    found: dict[str, Any] = {
        "trajectories": count,
        "tasks": tasks,
        "mean_turns": round(turns, 2),
        "mean_calls": round(calls, 2),
    }
    found["completion_tokens"] = int(tokens)
    for trait in TRAITS:
        sql = f"SELECT {trait}, count(*) FROM {rows} GROUP BY 1 ORDER BY 2 DESC, 1"
        found[trait] = {
            str(value): number for value, number in connection.execute(sql, [stage_key]).fetchall()
        }
    return found


def overlap_lines(
    only: Mapping[str, int],
    pairs: Sequence[FilterOverlap],
    before_after: Mapping[str, Mapping[str, Any]],
) -> list[str]:
    """What the funnel says of it."""
    lines = (
        [
            "dropped by one filter and no other: "
            f"{', '.join(f'{count:,} {name}' for name, count in only.items())}"
        ]
        if only
        else []
    )
    same = sorted((pair for pair in pairs if pair.overlap >= LIKE), key=lambda pair: -pair.overlap)[
        :3
    ]
    lines += [
        f"{pair.one} and {pair.other} drop the same in {pair.overlap:.0%} of their drops "
        f"({pair.dropped_by_both:,} by both)"
        for pair in same
    ]
    before, after = before_after["before"], before_after["after"]
    if after["trajectories"] and after["trajectories"] < before["trajectories"]:
        lines.append(
            f"tasks {before['tasks']:,} -> {after['tasks']:,}, turns per trajectory "
            f"{before['mean_turns']:g} -> {after['mean_turns']:g}, "
            f"calls {before['mean_calls']:g} -> {after['mean_calls']:g}"
        )
    return lines
