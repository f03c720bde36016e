"""The databases of one task, to run statements in: its own, the one beside it, and others."""

from collections.abc import Sequence
from functools import cached_property

from synth.envs.sql.database.results import Result
from synth.envs.sql.database.sources import DatabaseSource
from synth.envs.sql.database.sqlite import Sqlite
from synth.schemas.check import Facts

_PROBES = range(7001, 7005)
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
