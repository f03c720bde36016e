"""What is said of a wrong query's result by somebody who knows the right one."""

from collections.abc import Sequence

from synth.envs.sql.database.results import Result, StatementError
from synth.envs.sql.database.schema import Row
from synth.envs.sql.database.task_databases import TaskDatabases
from synth.envs.sql.near_misses import prints_of
from synth.envs.sql.request import SqlRequest


def complaint(databases: TaskDatabases, slip: str, right: Result, asked: SqlRequest) -> str | None:
    """What somebody who knows the right result says of a wrong one; None where both agree."""
    try:
        wrong, _ = databases.both(slip)
    except StatementError:
        return None

    prints = prints_of(asked, [wrong, right])
    if prints[0] == prints[1]:
        return None

    if len(right.rows) == len(wrong.rows) == len(right.columns) == 1:
        return f"it gives {wrong.rows[0][0]}, and I know that it is {right.rows[0][0]}."

    differing = {
        "missing": _beyond(right.rows, wrong.rows),
        "too many": _beyond(wrong.rows, right.rows),
    }
    told = [
        f"{len(rows)} {'row' if len(rows) == 1 else 'rows'} {what}, such as {_shown(rows[0])}"
        for what, rows in differing.items()
        if rows
    ]

    return f"{'; '.join(told)}." if told else "the rows are right, their order is not."


def _beyond(rows: Sequence[Row], others: Sequence[Row]) -> list[Row]:
    """The rows that others lack, each as often as it is missing there."""
    left, found = list(others), []

    for row in rows:
        if row in left:
            left.remove(row)
        else:
            found.append(row)

    return found


def _shown(row: Row) -> str:
    """A row in words."""
    return ", ".join("nothing" if cell is None else str(cell) for cell in row)
