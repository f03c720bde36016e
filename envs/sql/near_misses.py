"""Whether the two databases of a check tell a question from statements that are nearly right."""

from collections.abc import Callable, Sequence

from synth.envs.sql.database.results import Result, StatementError, fingerprint
from synth.envs.sql.database.task_databases import TaskDatabases
from synth.envs.sql.mutants import mutants
from synth.envs.sql.request import SqlRequest

NEAR_MISSES = 5
"""Statements that are nearly right, and end otherwise, which a task has at least."""


def prints_of(asked: SqlRequest, results: Sequence[Result]) -> list[str]:
    """What results are compared by, given what was asked."""
    return [fingerprint(one, ordered=asked.ordered) for one in results]


def told_apart(databases: TaskDatabases, asked: SqlRequest, sql: str) -> bool:
    """Whether there are enough slips that these two databases show, and no other slip is shown by
    other rows of the schema.
    """
    right, hidden, shown = prints_of(asked, databases.both(sql)), [], 0

    for _, slip in mutants(databases.database, sql):
        try:
            if prints_of(asked, databases.both(slip)) == right:
                hidden.append(slip)
            else:
                shown += 1
        except StatementError:
            continue

    return shown >= NEAR_MISSES and not (
        _shows(asked, sql, hidden, databases.probes)
        or _shows_on_edges(databases, asked, sql, hidden)
    )


def _shows_on_edges(
    databases: TaskDatabases, asked: SqlRequest, sql: str, slips: Sequence[str]
) -> bool:
    """Whether rows on the edge of what is asked for show a slip."""
    edges = databases.edges(sql) if slips else ()

    try:
        return _shows(asked, sql, slips, lambda one: [edge.query(one) for edge in edges])
    finally:
        for edge in edges:
            edge.close()


def _shows(
    asked: SqlRequest, sql: str, slips: Sequence[str], run: Callable[[str], list[Result]]
) -> bool:
    """Whether a slip gives otherwise than the right query where `run` runs both."""
    right = prints_of(asked, run(sql)) if slips else []

    for slip in slips:
        try:
            if prints_of(asked, run(slip)) != right:
                return True
        except StatementError:
            continue

    return False
