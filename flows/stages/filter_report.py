"""What the filters of a stage decided: kept, dropped and undefined by filter, with the reasons; how
they stand to each other; and what all together do to the composition.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import msgspec

from synth.engine.funnel import counted
from synth.flows.stages.baselines import baselines
from synth.ledger.decisions import faulted
from synth.ledger.ledger import StoredLedger
from synth.ledger.typed import read
from synth.ledger.views import LedgerConnection, connect
from synth.schemas import Text

NOTE = "note"
"""Metric of the lines that a filter has for the funnel."""

SPEAKS = 0.5
"""Share of the trajectories, below which a filter that is silent on the others is told of."""

LIKE = 0.5
"""Share of common drops from which two filters are told in the funnel to drop the same."""

TRAITS = ("synthesizer", "outcome", "env")
"""Columns by which the composition is counted."""

# the names that the funnel and the report page read
_VERDICTS = {True: "kept", False: "dropped", None: "undefined"}

_COUNTS = """
SELECT filter, keep, reason, count(*)
FROM decisions_all
WHERE stage_key = ?
GROUP BY ALL
ORDER BY ALL
"""

# a decision, or a number without one: a filter that only tells has spoken too
_SPOKE = """
SELECT filter, count(*) FILTER (keep IS NOT NULL OR score IS NOT NULL), count(*)
FROM decisions_all
WHERE stage_key = ?
GROUP BY 1
ORDER BY 1
"""

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

# both orders of each pair, the pair itself is taken in the order of the stage's filters; kappa is
# agreement beyond what chance gives over what there is beyond chance, null where chance alone
# agrees always; overlap is common drops over all drops, 0 where neither drops anything
_BOTH = """
WITH counted AS (
    SELECT a.filter AS one, b.filter AS other,
        count(*) AS decided,
        count(*) FILTER (NOT a.keep) AS by_one,
        count(*) FILTER (NOT b.keep) AS by_other,
        count(*) FILTER (NOT a.keep AND NOT b.keep) AS by_both
    FROM decisions_all AS a JOIN decisions_all AS b USING (trajectory_id)
    WHERE a.stage_key = $key AND b.stage_key = $key
        AND a.keep IS NOT NULL AND b.keep IS NOT NULL
        AND a.filter <> b.filter
    GROUP BY 1, 2
), shares AS (
    SELECT *,
        (by_both + decided - by_one - by_other + by_both) / decided AS agreed,
        (by_one * by_other + (decided - by_one) * (decided - by_other)) / (decided * decided)
            AS chance
    FROM counted
)
SELECT one, other, decided, by_one, by_other, by_both,
    CASE WHEN chance < 1 THEN (agreed - chance) / (1 - chance) END,
    coalesce(by_both / nullif(by_one + by_other - by_both, 0), 0)
FROM shares
"""

# undefined keeps: a filter that cannot tell is no reason to drop
_KEPT = """
SELECT trajectory_id, bool_and(coalesce(keep, true)) AS kept
FROM decisions_all
WHERE stage_key = ?
GROUP BY 1
"""

_COMPOSED = (*TRAITS, "task_id", "n_turns", "n_tool_calls", "completion_tokens")
_SIZES = """
count(*) AS trajectories,
count(DISTINCT task_id) AS tasks,
round(coalesce(avg(n_turns), 0), 2) AS mean_turns,
round(coalesce(avg(n_tool_calls), 0), 2) AS mean_calls,
coalesce(sum(completion_tokens), 0)::BIGINT AS completion_tokens
"""


class FilterOverlap(msgspec.Struct, frozen=True):
    """Of two filters over the trajectories on which both decided: what each drops, both drop,
    Cohen's kappa (None: undefined) and the Jaccard overlap of their drops.
    """

    one: str
    other: str
    decided: int
    dropped_by_one: int
    dropped_by_other: int
    dropped_by_both: int
    kappa: float | None
    overlap: float


def silences(filters: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """A line for each filter that could speak on less than half of what it was shown."""
    for name, one in filters.items():
        spoke, asked = one.get("spoke", 0), one.get("asked", 0)
        if spoke < SPEAKS * asked:
            why = counted(one["undefined"])
            yield f"WARNING: {name} could speak on {spoke:,} of {asked:,} only ({why})"


def _count(
    filters: Mapping[str, dict[str, Any]], connection: LedgerConnection, stage_key: str
) -> None:
    """Puts what each filter decided and on how much it spoke into its entry."""
    for name, keep, reason, count in connection.execute(_COUNTS, [stage_key]).fetchall():
        filters[name][_VERDICTS[keep]][reason] = count
    for name, spoke, asked in connection.execute(_SPOKE, [stage_key]).fetchall():
        filters[name]["spoke"], filters[name]["asked"] = spoke, asked


def filter_report(
    ledger: StoredLedger, stage_key: str, names: Sequence[str], measured: Sequence[str]
) -> Mapping[str, Any]:
    """The stage's report, kind `filter`; `measured`: the filters that measure."""
    filters: dict[str, dict[str, Any]] = {
        name: {"name": name, **{verdict: {} for verdict in _VERDICTS.values()}} for name in names
    }

    with connect(ledger) as connection:
        _count(filters, connection, stage_key)
        kept = f"SELECT count(*) FILTER (kept), count(*) FROM ({_KEPT})"
        ((kept_count, total),) = connection.execute(kept, [stage_key]).fetchall()
        faults = faulted(connection, stage_key, measured)
        only, pairs = only_by(connection, stage_key), agreements(connection, stage_key, names)
        composition = compositions(connection, stage_key)
        beside = list(baselines(connection, stage_key))

    also = [
        f"{note.subject_id.removeprefix('filter:')}: {note.about.text}"
        for note in read(ledger, Text, (NOTE,), stage_key=stage_key)
    ]
    also += [*silences(filters), *(one.line for one in beside)]
    if faults:
        also.append(f"faults left {faults:,} undefined; a rerun of the flow measures those again")
    if len(names) > 1:
        also += overlap_lines(only, pairs, composition)
    return {
        "kind": "filter",
        "filters": list(filters.values()),
        "kept": kept_count,
        "total": total,
        "faults": faults,
        "only_by": only,
        "baselines": msgspec.to_builtins(beside),
        "agreements": [
            {**msgspec.to_builtins(pair), "overlap": round(pair.overlap, 4)} for pair in pairs
        ],
        "composition": composition,
        "also": also,
    }


def only_by(connection: LedgerConnection, stage_key: str) -> dict[str, int]:
    """Trajectories that one filter drops and no other, by filter."""
    return dict(connection.execute(_ONLY_BY, [stage_key]).fetchall())


def agreements(
    connection: LedgerConnection, stage_key: str, names: Sequence[str]
) -> list[FilterOverlap]:
    """One per pair of filters that both decided on something."""
    rows = connection.execute(_BOTH, {"key": stage_key}).fetchall()
    found = {row[:2]: FilterOverlap(*row) for row in rows}
    return [found[pair] for pair in combinations(names, 2) if pair in found]


def compositions(connection: LedgerConnection, stage_key: str) -> Mapping[str, Mapping[str, Any]]:
    """What the trajectories are before and after all filters: how many, of how many tasks, how
    long, and by trait.
    """
    found: dict[str, dict[str, Any]] = {}
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE composed AS SELECT kept, {', '.join(_COMPOSED)} "
        f"FROM trajectories_all JOIN ({_KEPT}) USING (trajectory_id)",
        [stage_key],
    )

    for when, which in (("before", "true"), ("after", "kept")):
        rows = f"FROM composed WHERE {which}"
        sizes = connection.execute(f"SELECT {_SIZES} {rows}")
        names = [column[0] for column in sizes.description]
        found[when] = dict(zip(names, sizes.fetchall()[0], strict=True))
        for trait in TRAITS:
            sql = f"SELECT {trait}::VARCHAR, count(*) {rows} GROUP BY 1 ORDER BY 2 DESC, 1"
            found[when][trait] = dict(connection.execute(sql).fetchall())

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
