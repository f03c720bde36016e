"""The databases of one task, to run statements in, and how two states of one differ."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from urllib.parse import unquote

import msgspec

from synth.envs.sql.database.edges import on_edges
from synth.envs.sql.database.engines import Sqlite, segment
from synth.envs.sql.database.results import Result
from synth.envs.sql.database.small import small
from synth.envs.sql.database.sources import DatabaseSource
from synth.schemas import Check, Facts, RowPredicate, Scalar

_PROBES, _EDGES = range(7001, 7007), range(7101, 7109)
"""Other databases of a schema, numbered far from those that tasks take beside their own."""


class TaskDatabases:
    """Runs statements where a task takes place, in the database beside it, and in others of the
    same schema.
    """

    def __init__(self, source: DatabaseSource, seed: int, other: int) -> None:
        self._source, self._seed = source, seed
        self.database = source.database(seed)
        self.main = Sqlite(self.database)
        self._beside = Sqlite(source.database(seed, other))
        self._opened = [self.main, self._beside]

    def both(self, sql: str) -> list[Result]:
        """What a query gives here and beside. Raises `StatementError`."""
        return [self.main.query(sql), self._beside.query(sql)]

    def probes(self, sql: str) -> list[Result]:
        """What a query gives in other databases of the schema. Raises `StatementError`."""
        return [one.query(sql) for one in self._probes]

    def edges(self, right: str) -> Sequence[Sqlite]:
        """Databases of the schema with many rows on the edge of a query; closed by who asks."""
        made = (self._source.database(self._seed, number) for number in _EDGES)
        return [Sqlite(on_edges(one, right, at)) for at, one in enumerate(made)]

    def small(self, right: str, number: int) -> Sqlite:
        """A small database of the schema, made for a query; closed by who asks."""
        return Sqlite(small(self._beside.database, right, number))

    @cached_property
    def _probes(self) -> list[Sqlite]:
        made = [Sqlite(self._source.database(self._seed, number)) for number in _PROBES]
        self._opened += made
        return made

    @cached_property
    def start(self) -> Facts:
        """The facts that an episode begins with."""
        return self.main.facts()

    def after(self, statements: Sequence[str]) -> Facts:
        """The facts after changes of the start. Raises `StatementError`."""
        self.main.rewind(statements)

        try:
            return self.main.facts()
        finally:
            self.main.rewind(())

    def close(self) -> None:
        """Lets the databases go."""
        for one in self._opened:
            one.close()


ANSWERED = ("answer/*/*",)
"""Facts of the answer: free in a task that asks for none."""


class RowDifference(msgspec.Struct, frozen=True):
    """A row that differs: its columns that are new or other, None for a row that is gone."""

    table: str
    key: int
    columns: Mapping[str, Scalar] | None
    is_new: bool = False


def rows_of(facts: Facts) -> dict[tuple[str, int], dict[str, Scalar]]:
    """Facts as rows: (table, key) -> column -> value, in the order in which facts stand."""
    found: dict[tuple[str, int], dict[str, Scalar]] = {}

    for path, value in facts.items():
        table, key, column = path.split("/", 2)
        found.setdefault((unquote(table), int(key)), {})[unquote(column)] = value

    return found


def differences(start: Facts, end: Facts) -> Iterator[RowDifference]:
    """The rows that differ, by table and key."""
    before, after = rows_of(start), rows_of(end)

    for table, key in sorted(before.keys() | after.keys()):
        was, now = before.get((table, key)), after.get((table, key))
        if now is None:
            yield RowDifference(table, key, None)
        elif was is None:
            yield RowDifference(table, key, now, is_new=True)
        elif was != now:
            other = {name: now[name] for name in now if name not in was or was[name] != now[name]}
            yield RowDifference(table, key, other)


def check_of(start: Facts, end: Facts) -> Check | None:
    """What must hold at an end: rows that differ are required, those that are gone stay away.

    An answer is free. None where nothing differs.
    """
    required, free = [], list(ANSWERED)

    for row in differences(start, end):
        table, key = segment(row.table), str(row.key)
        if row.columns is None:
            required.append(RowPredicate(table, {"id": key}, count=0))
            free.append(f"{table}/{key}/*")
        else:
            values = {segment(name): value for name, value in row.columns.items()}
            required.append(RowPredicate(table, {"id": key, **values}))

    return Check(required=tuple(required), free=tuple(free)) if required else None
