"""Episodes whose second database holds nothing but canaries, which no agent may ever see."""

from msgspec.structs import replace

from synth.envs.sql.database.schema import Database
from synth.envs.sql.database.sources import DatabaseSource, Made, SqlConfig
from synth.envs.sql.env import SqlEnv
from synth.envs.sql.tools import SPEC
from synth.schemas import Task

CANARY = "CANARY-7f3a"
_WORDS = ("one_of", "text", "person", "label")


class _Canaried:
    """A source whose databases beside the task's own hold a canary for every word."""

    def __init__(self, source: DatabaseSource) -> None:
        self.digest = source.digest
        self._source = source

    def database(self, seed: int, other: int = 0) -> Database:
        """The database of a seed; another one with canaries."""
        found = self._source.database(seed, other)
        return found if other == 0 else _with_canaries(found)


def _with_canaries(database: Database) -> Database:
    rows = {}
    for table in database.tables:
        places = {at for at, one in enumerate(table.columns, 1) if one.kind in _WORDS}
        rows[table.name] = [
            tuple(
                f"{CANARY} {value}" if at in places and value is not None else value
                for at, value in enumerate(row)
            )
            for row in database.rows[table.name]
        ]

    return replace(database, rows=rows)


def canaried(task: Task) -> SqlEnv:
    """The environment of a task, its second database full of canaries."""
    config = SqlConfig.model_validate(dict(task.env_config))
    return SqlEnv(SPEC, config, _Canaried(Made(config)))
