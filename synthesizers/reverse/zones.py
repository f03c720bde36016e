"""The three zones of a derived task's check: what the window changed must hold, what the world
calls free may change, all else stands.
"""

from collections import defaultdict
from collections.abc import Mapping

from synth.envs.fact_pattern import matches, pattern_of, zone_of
from synth.schemas.check import Check, Facts, RowPredicate, Scalar
from synth.schemas.reverse import Draft
from synth.synthesizers.reverse.exploration import NOT_ASKED_FOR, changes

Row = tuple[str, str]


def check_of(start: Facts, end: Facts, draft: Draft, zones: Mapping[str, str]) -> Check:
    """Required: every row that differs between start and end, in the columns that differ and are
    neither free nor generated; what is
    free in the world and asked for by this goal is not free.

    A row that was there is named by its key; a new one by its content alone, because its key may be
    numbered as rows come, counted with
    the rows that are like it; one that is gone by its key, which no row may have; a value that is
    gone by itself.
    """
    asked = frozenset(draft.asked)
    free = [
        pattern for pattern, zone in zones.items() if zone in NOT_ASKED_FOR and pattern not in asked
    ] + list(draft.free)
    changed: defaultdict[Row, dict[str, Scalar]] = defaultdict(dict)
    gone: list[str] = []
    for path, change in changes(start, end).items():
        left_free = zone_of(zones, path) in NOT_ASKED_FOR and pattern_of(zones, path) not in asked
        if left_free or any(matches(pattern, path) for pattern in draft.free):
            continue
        table, key, column = path.split("/", 2)
        if path in end:
            changed[(table, key)][column] = change.after
        else:
            gone.append(path)
    before, after = _columns(start), _columns(end)
    required = [_required(row, columns, before, after) for row, columns in changed.items()]
    vanished = {(path.split("/", 2)[0], path.split("/", 2)[1]) for path in gone}
    required += [
        RowPredicate(table, {"id": key}, 0)
        for table, key in sorted(vanished)
        if (table, key) not in after
    ]
    required += [_emptied(path, start) for path in gone if tuple(path.split("/", 2)[:2]) in after]
    return Check(
        required=_once(required),
        free=tuple(dict.fromkeys([*free, *gone])),
        told=draft.told,
        refusals=draft.refusals,
        process=draft.process,
    )


def _emptied(path: str, start: Facts) -> RowPredicate:
    table, key, column = path.split("/", 2)
    return RowPredicate(table, {"id": key, column: start[path]}, 0)


def _columns(facts: Facts) -> dict[Row, dict[str, Scalar]]:
    rows: defaultdict[Row, dict[str, Scalar]] = defaultdict(dict)
    for path, value in facts.items():
        table, key, column = path.split("/", 2)
        rows[(table, key)][column] = value
    return rows


def _required(
    row: Row,
    columns: Mapping[str, Scalar],
    before: Mapping[Row, object],
    after: Mapping[Row, Mapping[str, Scalar]],
) -> RowPredicate:
    table, key = row
    if row in before:
        return RowPredicate(table, {"id": key, **columns})
    alike = sum(
        at == table
        and all(name in found and found[name] == value for name, value in columns.items())
        for (at, _), found in after.items()
    )
    return RowPredicate(table, dict(columns), alike)


def _once(required: list[RowPredicate]) -> tuple[RowPredicate, ...]:
    """Without doubles: two new rows that are alike are one predicate with a count."""
    return tuple(
        predicate for place, predicate in enumerate(required) if predicate not in required[:place]
    )
