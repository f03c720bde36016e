"""Derives the check of a task from facts: rows that the subtrajectory changed must hold, facts that
the environment declares free may change, and all others stay as they were.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.envs.echo_check import state_verdicts
from synth.envs.fact_pattern import matches, pattern_of, zone_of
from synth.schemas import Change, Check, Draft, Facts, Operation, RowPredicate, Scalar, Task

NOT_ASKED_FOR = frozenset({"free", "generated"})
"""Zones of an environment's facts that no goal is about."""
Row = tuple[str, str]


def verdict(passed: bool | None = True, **counts: Any) -> dict[str, Any]:
    """The verdict of one test, None where it does not apply, and its counts, as the task's
    `difficulty` holds them.
    """
    return {"passed": passed, **counts}


def changes(before: Facts, after: Facts) -> dict[str, Change]:
    """The paths whose values differ; None stands for a path that did not exist."""
    if before == after:
        return {}

    paths = sorted({path for path, _ in before.items() ^ after.items()})

    return {path: Change(before.get(path), after.get(path)) for path in paths}


def of_goals(changed: Mapping[str, Change], zones: Mapping[str, str]) -> dict[str, Change]:
    """Selects the changed facts that a goal can be about."""
    return {
        path: change
        for path, change in changed.items()
        if zone_of(zones, path) not in NOT_ASKED_FOR
    }


def check_of(
    start: Facts,
    end: Facts,
    draft: Draft,
    zones: Mapping[str, str],
) -> Check:
    """Required: every row that differs between start and end, in the columns that differ and are
    neither free nor generated; what is free in the environment and asked for by this goal is not
    free.

    A row that was there is named by its key; a new one by its content alone, because its key may be
    numbered as rows come, counted with the rows that are like it; one that is gone by its key,
    which no row may have; a value that is gone by itself.
    """

    # what the goal leaves open is neither required nor forbidden
    asked_for = [path for path in changes(start, end) if not _is_free(path, draft, zones)]
    gone = {path: start[path] for path in asked_for if path not in end}
    changed = {path: end[path] for path in asked_for if path in end}
    required = [*_present(changed, start, end), *_absent(gone, end)]
    # zones of the environment stay free in a task too, unless its goal asks for them
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


def _present(
    changed: Facts,
    start: Facts,
    end: Facts,
) -> Iterator[RowPredicate]:
    """Yields the predicates of changed and new rows."""
    before = _rows(start)
    after = _rows(end)

    for (table, key), columns in _rows(changed).items():
        if (table, key) in before:
            yield RowPredicate(table, {"id": key, **columns})
        else:
            # a new row among alike ones is only seen by their number
            of_table = [found.items() for (at, _), found in after.items() if at == table]
            alike = sum(columns.items() <= found for found in of_table)
            yield RowPredicate(table, columns, alike)


def _absent(gone: Facts, end: Facts) -> Iterator[RowPredicate]:
    """Yields the rows that are gone, and the values that remaining rows have lost."""
    lost = _rows(gone)
    after = _rows(end)
    for table, key in sorted(lost.keys() - after.keys()):
        yield RowPredicate(table, {"id": key}, 0)

    # a row that is gone as a whole needs no predicate per column
    for (table, key), columns in lost.items():
        for column, value in columns.items() if (table, key) in after else ():
            yield RowPredicate(table, {"id": key, column: value}, 0)


def _is_free(
    path: str,
    draft: Draft,
    zones: Mapping[str, str],
) -> bool:
    """Whether a goal leaves a fact open: by its zone, unless it asks for that, or by its draft."""
    by_zone = zone_of(zones, path) in NOT_ASKED_FOR
    asked = pattern_of(zones, path) in draft.asked
    return (by_zone and not asked) or any(matches(pattern, path) for pattern in draft.free)


def _rows(facts: Facts) -> Mapping[Row, dict[str, Scalar]]:
    """Facts as rows: (table, key) -> column -> value."""
    rows: defaultdict[Row, dict[str, Scalar]] = defaultdict(dict)
    for path, value in facts.items():
        table, key, column = path.split("/", 2)
        rows[table, key][column] = value

    return rows


def check_in(task: Task) -> Check:
    """The check of a derived task, which every one has."""
    return task.check or Check()


def constraint_structure(check: Check) -> str:
    """Describes a check with its entities masked, which tells goals apart whose words do not: rows
    by table and columns (with a plus before a new one), in no order, with the number of alike ones;
    the types of communicated facts; the rules that forbid.
    """

    parts = Counter[str]()

    for row in check.required:
        columns = ", ".join(sorted(row.where.keys() - {"id"}))
        found = f"{'' if 'id' in row.where else '+'}{row.table}({columns})"
        parts[found if row.count == 1 else f"{found} {row.count} times"] += 1

    parts += Counter(f"tell {fact.type}" for fact in check.told)
    parts += Counter(f"refuse by {refusal.rule}" for refusal in check.refusals)

    return " + ".join(
        part if count == 1 else f"{count} x {part}" for part, count in sorted(parts.items())
    )


def operation_signature(operations: Sequence[Operation], start: Facts) -> str:
    """The operations with their entities masked: tools, the columns that they change (with a plus
    before those of a new row, whose key says nothing), the rules that refused them; a look-up ends
    in a question mark.

    In a fixed order, so that two subtrajectories that do the same in another order are one.
    """

    found = []

    for operation in operations:
        tools = "/".join(call.name for call in operation.turn.tool_calls) or "text"
        if operation.denied is not None:
            found.append(f"{tools}!{operation.denied}")
        elif operation.shown is not None:
            found.append(f"{tools}?")
        else:
            places = [(path in start, path.split("/", 2)) for path in operation.changed]
            parts = {f"{'' if old else '+'}{at[0]}.{at[2]}" for old, at in places}
            found.append(f"{tools}({', '.join(sorted(parts))})")

    return " + ".join(sorted(found))


def broken(check: Check, start: Facts, end: Facts) -> str:
    """The failed parts of a check on the state; empty where it passes."""
    return "; ".join(
        f"{part.name}: {', '.join(part.evidence)}"
        for part in state_verdicts(check, start, end)
        if not part.passed
    )[:300]
