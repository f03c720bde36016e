"""What the filters of a stage decided: kept, dropped and undefined by filter, with the reasons, and
what all together keep.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.flows.stages.filter_overlap import agreements, compositions, only_by, overlap_lines
from synth.ledger.decisions import faulted
from synth.ledger.ledger import Ledger
from synth.ledger.typed import read
from synth.ledger.views import connect
from synth.schemas.measures import Text

NOTE = "note"
"""Metric of the lines that a filter has for the funnel."""

# the names that the funnel and the report page read
_VERDICTS = {True: "kept", False: "dropped", None: "undefined"}

_COUNTS = """
SELECT filter, keep, reason, count(*)
FROM decisions_all
WHERE stage_key = ?
GROUP BY ALL
ORDER BY ALL
"""

# undefined keeps: a filter that cannot tell is no reason to drop
_KEPT = """
SELECT count(*) FILTER (kept), count(*)
FROM (
    SELECT bool_and(coalesce(keep, true)) AS kept
    FROM decisions_all
    WHERE stage_key = ?
    GROUP BY trajectory_id
)
"""


def filter_report(
    ledger: Ledger, stage_key: str, names: Sequence[str], measured: Sequence[str]
) -> Mapping[str, Any]:
    """The stage's report, kind `filter`; `measured`: the filters that measure."""
    filters: dict[str, dict[str, Any]] = {
        name: {"name": name, **{verdict: {} for verdict in _VERDICTS.values()}} for name in names
    }

    with connect(ledger) as connection:
        for name, keep, reason, count in connection.execute(_COUNTS, [stage_key]).fetchall():
            filters[name][_VERDICTS[keep]][reason] = count
        ((kept, total),) = connection.execute(_KEPT, [stage_key]).fetchall()
        faults = faulted(connection, stage_key, measured)
        only, pairs = only_by(connection, stage_key), agreements(connection, stage_key, names)
        composition = compositions(connection, stage_key)

    also = [
        f"{note.subject_id.removeprefix('filter:')}: {note.about.text}"
        for note in read(ledger, Text, (NOTE,), stage_key=stage_key)
    ]

    if faults:
        also.append(f"faults left {faults:,} undefined; a rerun of the flow measures those again")
    if len(names) > 1:
        also += overlap_lines(only, pairs, composition)

    return {
        "kind": "filter",
        "filters": list(filters.values()),
        "kept": kept,
        "total": total,
        "faults": faults,
        "only_by": only,
        "agreements": [
            {**msgspec.to_builtins(pair), "overlap": round(pair.overlap, 4)} for pair in pairs
        ],
        "composition": composition,
        "also": also,
    }
