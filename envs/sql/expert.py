"""How the environment's own expert reads a goal, and what it does next; it errs by one
misconception all through an episode.
"""

from collections.abc import Mapping, Sequence

from synth.envs.sql.database.results import StatementError
from synth.envs.sql.database.schema import Database, quoted
from synth.envs.sql.database.task_databases import RowDifference, TaskDatabases, differences
from synth.envs.sql.request import (
    Condition,
    SqlRequest,
    grammar,
    literal,
    rows_meant,
    sql_of,
)
from synth.envs.sql.rewording.reader import read as read_freely
from synth.envs.sql.slips.mutants import mutants
from synth.envs.sql.words import vocabulary
from synth.schemas import Facts

GIVEN = " I was given this query: "
MISCONCEPTIONS: Mapping[str, tuple[str, ...]] = {
    "joins_inner": ("join", "existence"),
    "counts_twice": ("distinct", "limit"),
    "off_by_one": ("date", "comparison", "order"),
    "blind_to_null": ("null",),
    "adds_wrongly": ("aggregate", "value"),
    "forgets_conditions": ("condition", "either"),
    "mistakes_columns": ("column", "width"),
    "hard_codes": (),
}
"""Profile -> the slips that it makes, where they can be made."""


class GoalPlan:
    """What a goal asks for, as statements."""

    def __init__(self, databases: TaskDatabases, goal: str, profile: str) -> None:
        self.profile = profile
        self._databases, self._database = databases, databases.database
        words = vocabulary(self._database)
        read = [read_freely(line, words) for line in _lines(goal)]
        asked = [request for request in read if request is not None]
        self.readable = bool(asked) and len(asked) == len(read)

        self._changes = [request for request in asked if request.is_change]
        questions = [request for request in asked if not request.is_change]
        self.answer = self._statement(questions[0]) if questions else None
        self._statements = [self._statement(change) for change in self._changes]
        self._target: Facts | None = None

    def look(self) -> str:
        """A query to look at before anything is decided."""
        if self.answer is not None:
            return self.answer

        for change in self._changes:
            if change.form != "add":
                return rows_meant(self._database, change.many, change.which)

        return f"SELECT COUNT(*) FROM {quoted(self._changes[0].many)}"

    def next_change(self, done: Sequence[str], now: Facts) -> str | None:
        """The next statement; None where everything is as it is to be.

        What somebody else did on the way is put right row by row.
        """
        if list(done) == self._statements[: len(done)]:
            return next(iter(self._statements[len(done) :]), None)

        try:
            self._target = self._target or self._databases.after(self._statements)
        except StatementError:
            return None

        mended = (_mending(self._database, row) for row in differences(now, self._target))

        return next((sql_of(self._database, change) for change in mended), None)

    def close(self) -> None:
        """Lets the databases go."""
        self._databases.close()

    def _statement(self, request: SqlRequest) -> str:
        """The statement with the profile's slip, where it can be made."""
        sql = sql_of(self._database, request)
        kinds = MISCONCEPTIONS.get(self.profile)
        if kinds:
            return next((slip for _, slip in mutants(self._database, sql, *kinds)), sql)

        if self.profile == "hard_codes" and not request.is_change:
            rows = self._databases.main.query(sql).rows[:200]
            return " UNION ALL ".join(f"SELECT {', '.join(map(literal, row))}" for row in rows)

        return sql


def _lines(goal: str) -> list[str]:
    """The sentences of a goal without what stands around them."""
    lines = [line.partition(GIVEN)[0] for line in goal.splitlines() if line.strip()]
    return [line.removesuffix(grammar().figures) for line in lines]


def _mending(database: Database, row: RowDifference) -> SqlRequest:
    """The change that makes a row what it is to be."""
    key = database.table(row.table).key
    values = tuple((row.columns or {}).items())
    if row.is_new:
        return SqlRequest(form="add", many=row.table, values=((key, row.key), *values))

    form = "remove" if row.columns is None else "set"
    which = (Condition("equal", (key,), (row.key,)),)

    return SqlRequest(form=form, many=row.table, values=values, which=which)
