"""Derives the check of a task from facts: rows that the subtrajectory changed must hold, facts that
the environment declares free may change, and all others stay as they were.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.envs.echo_check import state_verdicts
from synth.envs.fact_pattern import matches, pattern_of, zone_of
from synth.schemas.check import Check, Facts, RowPredicate, Scalar
from synth.schemas.reverse import Change, Draft
from synth.schemas.task import Task

NOT_ASKED_FOR = frozenset({"free", "generated"})
"""Zones of an environment's facts that no goal is about."""
Row = tuple[str, str]


class RejectedError(Exception):
    """Why a window is no task: `reason` is a counter's name, `example` shows what was found."""

    def __init__(self, reason: str, example: str = "") -> None:
        super().__init__(reason, example)
        self.reason = reason
        self.example = example


def verdict(passed: bool | None = True, **counts: Any) -> dict[str, Any]:
    """One test's verdict, None where it does not apply, and the counts behind it, as the task's
    `difficulty` holds them.
    """
    return {"passed": passed, **counts}


def changes(before: Facts, after: Facts) -> dict[str, Change]:
    """The paths whose values differ; None where a path did not exist."""
    if before == after:
        return {}
    paths = sorted({path for path, _ in before.items() ^ after.items()})
    return {path: Change(before.get(path), after.get(path)) for path in paths}


def of_goals(changed: Mapping[str, Change], zones: Mapping[str, str]) -> dict[str, Change]:
    """Those of the changed facts that a goal can be about."""
    return {
        path: change
        for path, change in changed.items()
        if zone_of(zones, path) not in NOT_ASKED_FOR
    }


def check_of(start: Facts, end: Facts, draft: Draft, zones: Mapping[str, str]) -> Check:
    """Required: every row that differs between start and end, in the columns that differ and are
    neither free nor generated; what is free in the environment and asked for by this goal is not
    free.

    A row that was there is named by its key; a new one by its content alone, because its key may be
    numbered as rows come, counted with the rows that are like it; one that is gone by its key,
    which no row may have; a value that is gone by itself.
    """

    asked_for = [path for path in changes(start, end) if not _is_free(path, draft, zones)]
    gone = [path for path in asked_for if path not in end]
    changed: defaultdict[Row, dict[str, Scalar]] = defaultdict(dict)
    for path in asked_for:
        row, column = _split(path)
        if path in end:
            changed[row][column] = end[path]
    before, after = _rows(start), _rows(end)
    required = [_required(row, columns, before, after) for row, columns in changed.items()]
    required += list(_absent(gone, start, after))
    free = [
        pattern
        for pattern, zone in zones.items()
        if zone in NOT_ASKED_FOR and pattern not in draft.asked
    ]
    return Check(
        required=tuple(one for at, one in enumerate(required) if one not in required[:at]),
        free=tuple(dict.fromkeys([*free, *draft.free, *gone])),
        told=draft.told,
        refusals=draft.refusals,
        process=draft.process,
    )


def _is_free(path: str, draft: Draft, zones: Mapping[str, str]) -> bool:
    by_world = zone_of(zones, path) in NOT_ASKED_FOR
    asked = pattern_of(zones, path) in draft.asked
    return (by_world and not asked) or any(matches(pattern, path) for pattern in draft.free)


def _absent(
    gone: Sequence[str], start: Facts, after: Mapping[Row, object]
) -> Iterator[RowPredicate]:
    """Rows that no longer are, and values that rows no longer have."""
    places = {path: _split(path) for path in gone}
    for table, key in sorted({row for row, _ in places.values()} - after.keys()):
        yield RowPredicate(table, {"id": key}, 0)
    for path, ((table, key), column) in places.items():
        if (table, key) in after:
            yield RowPredicate(table, {"id": key, column: start[path]}, 0)


def check_in(task: Task) -> Check:
    """The check of a derived task: each has one."""
    return task.check or Check()


def _split(path: str) -> tuple[Row, str]:
    table, key, column = path.split("/", 2)
    return (table, key), column


def _rows(facts: Facts) -> Mapping[Row, Mapping[str, Scalar]]:
    rows: defaultdict[Row, dict[str, Scalar]] = defaultdict(dict)
    for path, value in facts.items():
        row, column = _split(path)
        rows[row][column] = value
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
        at == table and columns.items() <= found.items() for (at, _), found in after.items()
    )
    return RowPredicate(table, dict(columns), alike)


def constraint_structure(check: Check) -> str:
    """What a check demands with its entities masked, by which goals are told apart whose words say
    nothing about it: rows by table and columns, in no order, with the number of alike ones; the
    types of what is to be told; the rules that forbid.
    """
    parts = Counter(map(_shape, check.required))
    parts += Counter(f"tell {fact.type}" for fact in check.told)
    parts += Counter(f"refuse by {refusal.rule}" for refusal in check.refusals)
    return " + ".join(
        part if count == 1 else f"{count} x {part}" for part, count in sorted(parts.items())
    )


def _shape(row: RowPredicate) -> str:
    """`table(columns)` of a row that was there, `+table(columns)` of a new one, with how many there
    must be where that is not one.
    """
    columns = ", ".join(sorted(row.where.keys() - {"id"}))
    found = f"{'' if 'id' in row.where else '+'}{row.table}({columns})"
    return found if row.count == 1 else f"{found} {row.count} times"


def broken(check: Check, start: Facts, end: Facts) -> str:
    """What of the state part of a check does not hold; empty where it passes."""
    return "; ".join(
        f"{part.name}: {', '.join(part.evidence)}"
        for part in state_verdicts(check, start, end)
        if not part.passed
    )[:300]
