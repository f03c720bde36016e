"""The state part of a check, over any facts whose paths are `table/key/column`: required, free and
protected zones.
"""

from collections import defaultdict
from collections.abc import Mapping

from synth.envs.fact_pattern import matches_any
from synth.schemas import Check, CheckResult, Facts, RowPredicate, Scalar, SubVerdict

Rows = Mapping[str, Mapping[str, Mapping[str, Scalar]]]
"""table -> key -> columns."""
_ABSENT = object()


def judged(check: Check | None, start: Facts, end: Facts, version: str) -> CheckResult:
    """The verdict on an episode whose check is about facts alone, with those that changed (None =
    gone); without a check nothing passes.
    """

    changed = {path: value for path, value in end.items() if start.get(path, _ABSENT) != value}
    changed |= {path: None for path in start if path not in end}
    if check is None:
        return CheckResult(False, facts=changed, version=version)
    parts = state_verdicts(check, start, end)

    return CheckResult(all(part.passed for part in parts), parts, changed, version)


def state_verdicts(check: Check, start: Facts, end: Facts) -> tuple[SubVerdict, ...]:
    """`required`: each predicate holds at the end; `protected`: no protected path changed but those
    that a required row covers.
    """

    rows = rows_of(end)
    missing, covered = [], set[str]()
    for predicate in check.required:
        keys = _matching(predicate, rows)
        if len(keys) != predicate.count:
            missing.append(f"{predicate.table} {dict(sorted(predicate.where.items()))}")
        for column in predicate.where:
            covered |= {f"{predicate.table}/{key}/{column}" for key in keys}

    broken = [
        path
        for path in sorted((start.keys() | end.keys()) - covered)
        if start.get(path, _ABSENT) != end.get(path, _ABSENT)
        and matches_any(check.protected, path)
        and not matches_any(check.free, path)
    ]

    return (
        SubVerdict("required", not missing, tuple(missing)),
        SubVerdict("protected", not broken, tuple(broken)),
    )


def rows_of(facts: Facts) -> Rows:
    """The rows that facts are about."""

    tables: defaultdict[str, dict[str, dict[str, Scalar]]] = defaultdict(dict)
    for path, value in facts.items():
        table, key, column = path.split("/", 2)
        tables[table].setdefault(key, {})[column] = value

    return tables


def _matching(predicate: RowPredicate, rows: Rows) -> list[str]:
    """The keys of the rows that have all the values; the key itself is the column `id`."""

    return [
        key
        for key, row in rows.get(predicate.table, {}).items()
        if all(
            row.get(name, key if name == "id" else _ABSENT) == value
            for name, value in predicate.where.items()
        )
    ]
