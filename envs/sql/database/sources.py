"""Which databases there are: made by seed, or read from a file of the user's."""

from random import Random
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from synth.envs.sql.database.duck import Duck
from synth.envs.sql.database.generated import domains, generated
from synth.envs.sql.database.results import Result
from synth.envs.sql.database.schema import Database
from synth.envs.sql.database.sqlite import Sqlite
from synth.schemas.errors import ConfigError

Kind = Literal["question", "change", "repair"]


class DatabaseSource(Protocol):
    """Where databases come from; `digest` of the file, None where they are made."""

    digest: str | None

    def database(self, seed: int, other: int = 0) -> Database:
        """The database of a seed; with a number, another one beside it with the same schema."""


class SqlConfig(BaseModel):
    """`domain`: one of those of data/domains.yaml, by default another one from seed to seed.

    `tables`: the most that a database has. `kinds`: which tasks are made. `engine`: `duckdb` for
    questions alone. `digest` pins a user's file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    domain: str | None = Field(default=None, max_length=40)
    tables: int = Field(default=8, ge=1, le=12)
    level: float = Field(default=0.5, ge=0, le=1)
    kinds: tuple[Kind, ...] = Field(
        default=("question", "change", "question", "repair"), min_length=1, max_length=12
    )
    engine: Literal["sqlite", "duckdb"] = "sqlite"
    digest: str | None = Field(default=None, max_length=100)
    explored_seed: int = Field(default=0, ge=-(2**63), lt=2**63)

    def pinned(self, source: DatabaseSource) -> dict[str, Any]:
        """What of the settings determines where an episode begins."""
        found = self.model_dump(include={"domain", "tables", "engine"}, exclude_none=True)
        return {**found, **({"digest": source.digest} if source.digest else {})}

    def opened(self, database: Database) -> "Engine":
        """A database to run statements in."""
        return Sqlite(database) if self.engine == "sqlite" else Duck(database)


class Engine(Protocol):
    """A database that statements run in."""

    def query(self, sql: str) -> Result:
        """What a statement reads. Raises `StatementError`."""

    def close(self) -> None:
        """Lets the database go."""


class Made:
    """Databases by seed."""

    digest: str | None = None

    def __init__(self, config: SqlConfig) -> None:
        if config.domain is not None and config.domain not in domains():
            raise ConfigError(f"sql has no domain {config.domain!r}; it has {', '.join(domains())}")

        self._domain, self._tables = config.domain, config.tables

    def database(self, seed: int, other: int = 0) -> Database:
        """The database of a seed; `other` numbers those with other rows."""
        domain = self._domain or Random(f"sql {seed}").choice(list(domains()))
        return generated(domain, self._tables, seed, other)
