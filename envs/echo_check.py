"""The state part of a check, over any facts whose paths are `table/key/column`: required, free and
protected zones.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from synth.envs.fact_pattern import matches
from synth.schemas.check import Check, Facts, RowPredicate, Scalar, SubVerdict

Row = dict[str, Scalar]


def state_verdicts(check: Check, start: Facts, end: Facts) -> tuple[SubVerdict, ...]:
    """`required`: each predicate holds at the end; `protected`: no protected path changed but those
    that a required row covers.
    """
    rows = _rows(end)
    missing = tuple(
        f"{predicate.table} {dict(sorted(predicate.where.items()))}"
        for predicate in check.required
        if not _holds(predicate, rows)
    )
    broken = tuple(sorted(_protected_changes(check, start, end, rows)))
    return (
        SubVerdict("required", not missing, missing),
        SubVerdict("protected", not broken, broken),
    )


def _rows(facts: Facts) -> Mapping[str, Mapping[str, Row]]:
    """table -> key -> columns, the key itself as column `id`."""
    tables: dict[str, dict[str, Row]] = defaultdict(dict)
    for path, value in facts.items():
        table, key, column = path.split("/", 2)
        tables[table].setdefault(key, {"id": key})[column] = value
    return tables


def _matching(predicate: RowPredicate, rows: Mapping[str, Mapping[str, Row]]) -> Sequence[str]:
    table = rows.get(predicate.table, {})
    return [
        key
        for key, row in table.items()
        if all(name in row and row[name] == value for name, value in predicate.where.items())
    ]


def _holds(predicate: RowPredicate, rows: Mapping[str, Mapping[str, Row]]) -> bool:
    return len(_matching(predicate, rows)) == predicate.count


def _protected_changes(
    check: Check, start: Facts, end: Facts, rows: Mapping[str, Mapping[str, Row]]
) -> set[str]:
    covered = {
        f"{required.table}/{key}/{column}"
        for required in check.required
        for key in _matching(required, rows)
        for column in required.where
    }
    absent = object()
    changed = {
        path
        for path in start.keys() | end.keys()
        if start.get(path, absent) != end.get(path, absent)
    }
    return {
        path
        for path in changed - covered
        if any(matches(p, path) for p in check.protected)
        and not any(matches(p, path) for p in check.free)
    }
