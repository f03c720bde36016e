"""Which database an episode takes place in, and what statements do to it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from urllib.parse import quote

from synth.envs.sql.base.engines import Sqlite
from synth.envs.sql.base.results import Result
from synth.envs.sql.base.schema import Database
from synth.envs.sql.base.sources import DatabaseSource
from synth.schemas.check import Check, Facts, RowPredicate, Scalar

ANSWERED = ("answer/*/*",)
"""Facts of the answer: free in a task that asks for none."""
_PROBES = 4


def facts_of(engine: Sqlite, database: Database) -> dict[str, Scalar]:
    """Every value by `table/key/column`."""
    found: dict[str, Scalar] = {}
    for table in database.tables:
        ends = [f"/{segment(name)}" for name in table.names[1:]]
        for key, *values in engine.rows(table.name, table.names):
            row = f"{segment(table.name)}/{key}"
            for end, value in zip(ends, values, strict=True):
                found[row + end] = value
    return found


@lru_cache(maxsize=4096)
def segment(name: str) -> str:
    """A name as a segment of a path."""
    return quote(name, safe=" ")


class Tried:
    """Runs statements where a task takes place, in the database beside it, and in others of the
    same schema.
    """

    def __init__(self, source: DatabaseSource, seed: int, other: int) -> None:
        self._source, self._seed, self._second = source, seed, other
        self.database = source.database(seed, other)
        self.main = Sqlite(source.image(seed, other, second=False))
        self._other = Sqlite(source.image(seed, other, second=True))

    def both(self, sql: str) -> tuple[Result, Result]:
        """What a query gives here and beside. Raises `StatementError`."""
        return self.main.query(sql), self._other.query(sql)

    @cached_property
    def _probes(self) -> list[Sqlite]:
        seeds = range(7001, 7001 + _PROBES)
        return [Sqlite(self._source.image(self._seed, one, second=True)) for one in seeds]

    def probes(self, sql: str) -> list[Result]:
        """What a query gives in other databases of the schema. Raises `StatementError`."""
        return [one.query(sql) for one in self._probes]

    @cached_property
    def start(self) -> Facts:
        """The facts that an episode begins with."""
        return facts_of(self.main, self.database)

    def after(self, statements: Sequence[str]) -> Facts:
        """The facts after changes of the start. Raises `StatementError`."""
        self.main.rewind(statements)
        try:
            return facts_of(self.main, self.database)
        finally:
            self.main.rewind(())

    def check_of(self, statements: Sequence[str]) -> Check | None:
        """What must hold after changes; None where they leave all as it is."""
        end = self.after(statements)
        return check_of(self.start, end)

    def close(self) -> None:
        """Lets the databases go."""
        for one in (self.main, self._other, *self.__dict__.get("_probes", ())):
            one.close()


def rows_of(facts: Facts) -> dict[tuple[str, str], dict[str, Scalar]]:
    """Facts as rows: (table, key) -> column -> value."""
    found: dict[tuple[str, str], dict[str, Scalar]] = {}
    for path, value in facts.items():
        table, key, column = path.split("/", 2)
        found.setdefault((table, key), {})[column] = value
    return found


def differing(start: Facts, end: Facts) -> Iterator[tuple[str, str, Mapping[str, Scalar] | None]]:
    """(table, key, columns that are new or other) of each row that differs; None for one that is
    gone.
    """
    before, after = rows_of(start), rows_of(end)
    for table, key in sorted(before.keys() | after.keys(), key=lambda one: (one[0], int(one[1]))):
        was, now = before.get((table, key)), after.get((table, key))
        if now is None:
            yield table, key, None
        elif was != now:
            known = was or {}
            yield (
                table,
                key,
                {
                    name: value
                    for name, value in now.items()
                    if name not in known or known[name] != value
                },
            )


def check_of(start: Facts, end: Facts) -> Check | None:
    """The rows that differ are required, those that are gone stay away; an answer is free."""
    required, free = [], list(ANSWERED)
    for table, key, columns in differing(start, end):
        if columns is None:
            required.append(RowPredicate(table, {"id": key}, count=0))
            free.append(f"{table}/{key}/*")
        else:
            required.append(RowPredicate(table, {"id": key, **columns}))
    return Check(required=tuple(required), free=tuple(free)) if required else None
