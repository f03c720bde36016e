"""Which databases tell a question from statements that are nearly right."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from synth.envs.sql.database.engines import Sqlite
from synth.envs.sql.database.results import (
    Result,
    StatementError,
    fingerprint,
    on_the_edge,
    with_nothing_as_zero,
)
from synth.envs.sql.database.small import MOST_SMALL
from synth.envs.sql.database.task_databases import TaskDatabases
from synth.envs.sql.request import SqlRequest
from synth.envs.sql.slips.mutants import mutants

NEAR_MISSES = 5
"""Statements that are nearly right, and end otherwise, which a task has at least."""
OF_PLAIN = 2
"""So many of a task that asks plainly: what is simple can be missed in few ways."""
_CANDIDATES = range(1, 97)


def prints_of(asked: SqlRequest, results: Sequence[Result]) -> list[str]:
    """What results are compared by, given what was asked."""
    return [fingerprint(one, ordered=asked.ordered) for one in results]


def print_of_small(asked: SqlRequest, result: Result) -> str:
    """What the result of a small database is compared by."""
    return fingerprint(with_nothing_as_zero(result), ordered=asked.ordered)


def telling(
    databases: TaskDatabases, asked: SqlRequest, sql: str, least: int = NEAR_MISSES
) -> list[int] | None:
    """The small databases that tell slips which look right on the two large ones.

    None where they would be too many, where fewer slips than `least` are told, and where other rows
    of the schema tell one that none of these does.
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

    chosen, alike = _chosen(databases, asked, sql, hidden) if hidden else ([], [])
    enough = shown + len(hidden) - len(alike) >= least
    if not enough or len(chosen) > MOST_SMALL:
        return None

    shows = _shows(asked, sql, alike, databases.probes)
    return None if shows or _shows_on_edges(databases, asked, sql, alike) else chosen


def _chosen(
    databases: TaskDatabases, asked: SqlRequest, sql: str, slips: Sequence[str]
) -> tuple[list[int], list[str]]:
    """The numbers of small databases that show slips, few of them; the slips that none shows."""
    left, chosen = list(slips), list[int]()
    for number, one, right in _candidates(databases, asked, sql):
        told = [slip for slip in left if _is_told(one, asked, slip, right)]
        if told:
            chosen.append(number)
            left = [slip for slip in left if slip not in told]

        if not left:
            break

    return chosen, left


def _candidates(
    databases: TaskDatabases, asked: SqlRequest, sql: str
) -> Iterator[tuple[int, Sqlite, str]]:
    """(number, database, what is right there), where rounding leaves no doubt about it."""
    for number in _CANDIDATES:
        with closing(databases.small(sql, number)) as one:
            found = one.query(sql)
            if not on_the_edge(found):
                yield number, one, print_of_small(asked, found)


def _is_told(one: Sqlite, asked: SqlRequest, slip: str, right: str) -> bool:
    """Whether a database gives otherwise for a slip; one that does not run was not taken."""
    try:
        return print_of_small(asked, one.query(slip)) != right
    except StatementError:
        return False


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
