"""What the filters of a stage decided: kept, dropped and undefined by filter, with the reasons, and
what all together keep.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.flows.stages.filter_overlap import agreements, compositions, only_by, overlap_lines
from synth.ledger.decided import faulted
from synth.ledger.ledger import Ledger
from synth.ledger.typed import read
from synth.ledger.views import connect
from synth.schemas.measures import Text

NOTE = "note"
"""Metric of the lines that a filter has for the funnel."""


def filter_report(
    ledger: Ledger, stage_key: str, names: Sequence[str], measured: Sequence[str]
) -> Mapping[str, Any]:
    """The stage's report, kind `filter`; `measured`: the filters that measure."""
    sql = (
        "SELECT filter, keep, reason, count(*) FROM decisions_all WHERE stage_key = "
        f"'{stage_key}' GROUP BY ALL ORDER BY ALL"
    )
    counts: dict[str, dict[str, Counter[str]]] = {
        name: {"kept": Counter(), "dropped": Counter(), "undefined": Counter()} for name in names
    }
    with connect(ledger) as connection:
        for name, keep, reason, count in connection.execute(sql).fetchall():
            counts[name]["undefined" if keep is None else "kept" if keep else "dropped"][
                reason
            ] += count
        whole = (
            "SELECT bool_and(coalesce(keep, true)) AS kept FROM decisions_all WHERE "
            f"stage_key = '{stage_key}' GROUP BY trajectory_id"
        )
        ((kept, total),) = connection.execute(
            f"SELECT count(*) FILTER (kept), count(*) FROM ({whole})"
        ).fetchall()
        only, pairs = only_by(connection, stage_key), agreements(connection, stage_key, names)
        composition = compositions(connection, stage_key)
    notes = [
        f"{note.subject_id.removeprefix('filter:')}: {note.about.text}"
        for note in read(ledger, Text, (NOTE,), stage_key=stage_key)
    ]
    faults = faulted(ledger, stage_key, measured)
    lost = (
        [f"faults left {faults:,} undefined; a rerun of the flow measures those again"]
        if faults
        else []
    )
    filters = [{"name": name, **found} for name, found in counts.items()]
    return {
        "kind": "filter",
        "filters": filters,
        "kept": kept,
        "total": total,
        "faults": faults,
        "only_by": only,
        "agreements": [
            {**msgspec.to_builtins(pair), "overlap": round(pair.overlap, 4)} for pair in pairs
        ],
        "composition": composition,
        "also": [
            *notes,
            *lost,
            *(overlap_lines(only, pairs, composition) if len(names) > 1 else ()),
        ],
    }
