"""How the environment's own expert reads a goal, and what it does next; it errs by one
misconception all through an episode.
"""

from collections.abc import Mapping, Sequence

from synth.envs.sql.base.engines import quoted
from synth.envs.sql.base.facts import Tried, differing
from synth.envs.sql.base.results import StatementError
from synth.envs.sql.language.mutants import mutants
from synth.envs.sql.language.question import (
    Question,
    RowChange,
    literal,
    query_of,
    rows_meant,
    statement_of,
)
from synth.envs.sql.language.words import grammar, vocabulary
from synth.schemas.check import Facts

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

    def __init__(self, tried: Tried, goal: str, profile: str) -> None:
        self._tried, self._profile = tried, profile
        words = vocabulary(tried.database)
        asked = [words.read(line) for line in _lines(goal)]
        self.readable = bool(asked) and None not in asked
        questions = [one for one in asked if isinstance(one, Question)]
        self.changes = [one for one in asked if isinstance(one, RowChange)]
        self.answer = self._slipped(query_of(tried.database, questions[0])) if questions else None
        self.statements = [self._slipped(statement_of(tried.database, one)) for one in self.changes]
        self._target: Facts | None = None

    def look(self) -> str:
        """A query to look at before anything is decided."""
        database = self._tried.database
        if self.answer is not None:
            return self.answer
        which = [one for one in self.changes if one.form != "add"]
        if which:
            return rows_meant(database, which[0].many, which[0].which)
        table = database.table(self.changes[0].many)
        return f"SELECT COUNT(*) FROM {quoted(table.name)}"

    def next_change(self, done: Sequence[str], now: Facts) -> str | None:
        """The next statement; None where everything is as it is to be. What somebody else did on
        the way is put right row by row.
        """
        if list(done) == self.statements[: len(done)]:
            left = self.statements[len(done) :]
            return left[0] if left else None
        try:
            self._target = self._target or self._tried.after(self.statements)
        except StatementError:
            return None
        return next(iter(_mended(self._tried, now, self._target)), None)

    def _slipped(self, sql: str) -> str:
        """The statement with the profile's slip, where it can be made."""
        kinds = MISCONCEPTIONS.get(self._profile)
        if kinds:
            found = mutants(self._tried.database, sql, *kinds)
            return next((slip for _, slip in found), sql)
        if self._profile == "hard_codes" and sql.startswith("SELECT"):
            rows = self._tried.main.query(sql).rows[:200]
            return " UNION ALL ".join(f"SELECT {', '.join(map(literal, row))}" for row in rows)
        return sql


def _lines(goal: str) -> list[str]:
    """The sentences of a goal without what stands around them."""
    figures = str(grammar()["figures"])
    return [
        line.partition(GIVEN)[0].removesuffix(figures) for line in goal.splitlines() if line.strip()
    ]


def _mended(tried: Tried, now: Facts, target: Facts) -> list[str]:
    """Statements that make one state out of another, a row each."""
    found = []
    named = {table.name: table for table in tried.database.tables}
    known = {path.rsplit("/", 1)[0] for path in now}
    for name, key, columns in differing(now, target):
        table = named[name]
        where = f"WHERE {quoted(table.key)} = {key}"
        if columns is None:
            found.append(f"DELETE FROM {quoted(name)} {where}")
        elif f"{name}/{key}" in known:
            values = ", ".join(
                f"{quoted(one)} = {literal(value)}" for one, value in columns.items()
            )
            found.append(f"UPDATE {quoted(name)} SET {values} {where}")
        else:
            names = ", ".join(map(quoted, (table.key, *columns)))
            values = ", ".join((key, *map(literal, columns.values())))
            found.append(f"INSERT INTO {quoted(name)} ({names}) VALUES ({values})")
    return found
