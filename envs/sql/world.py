"""SQL in the registry: over databases by seed, and over a user's own file."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import sqlglot
from pydantic import BaseModel, ConfigDict

from synth.envs.episode import call_of
from synth.envs.sql.database.from_file import FromFile
from synth.envs.sql.database.sources import DatabaseSource, Made, SqlConfig
from synth.envs.sql.env import SqlEnv
from synth.envs.sql.reverse import goal_of
from synth.envs.sql.rewording.reader import reworded
from synth.envs.sql.slips.mutants import mutants
from synth.envs.sql.tasks import made
from synth.envs.sql.tools import SPEC
from synth.envs.transcript import Transcript, edited
from synth.envs.world import EnvEntry, EnvStart, unbound
from synth.schemas import (
    AgentTurn,
    Draft,
    Env,
    EnvSpec,
    NoGoal,
    Task,
    ToolCall,
    Window,
    content_hash,
)

FILE_SPEC = msgspec.structs.replace(SPEC, name="sql_file", memory_bytes=64 << 20)


class FileSettings(BaseModel):
    """What only the user says: the SQLite file, which is read and never written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    database: str


@lru_cache(maxsize=8)
def _from_file(path: str, changed_ns: int) -> FromFile:
    """A file is read again once it was changed."""
    return FromFile(Path(path))


@dataclass(frozen=True)
class _World:
    """What the entries of the registry ask for, over one source of databases."""

    settings: FileSettings | None = None

    def source(self, config: SqlConfig) -> DatabaseSource:
        """Where the databases come from."""
        if self.settings is None:
            return Made(config)

        path = Path(self.settings.database).expanduser()
        return _from_file(str(path), path.stat().st_mtime_ns if path.exists() else 0)

    @property
    def spec(self) -> EnvSpec:
        """What the environment is."""
        return SPEC if self.settings is None else FILE_SPEC

    def open(self, config: Mapping[str, Any]) -> Env:
        """An environment with these settings."""
        read = SqlConfig.model_validate(dict(config))
        return SqlEnv(self.spec, read, self.source(read))

    def make_tasks(self, config: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
        """That many tasks; the same seed makes the same ones."""
        read = SqlConfig.model_validate(dict(config))
        return tuple(made(self.source(read), read, seed, count, self.spec.name))

    def write_goal(self, window: Window) -> Draft | NoGoal:
        """What a window of an exploration has achieved, in words."""
        read = SqlConfig.model_validate(dict(window.env_config))
        return goal_of(self.source(read), read, window)

    def reword(self, draft: Draft, lines: Sequence[str]) -> Draft:
        """A draft in a model's words. Raises `ValueError` where they say something else."""
        read = SqlConfig.model_validate(dict(draft.env_config or {}))
        return reworded(self.source(read), draft, lines)

    def start_state(self, config: Mapping[str, Any]) -> str:
        """A hash of the user's file."""
        return content_hash(self.source(SqlConfig()).digest)


def exploring(config: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    """A database of its own for each exploration."""
    return {**config, "explored_seed": seed % 2**31}


Edited = Iterable[tuple[str, Sequence[AgentTurn]]]


def with_slips(task: Task, solved: Transcript) -> Edited:
    """A solved episode with one slip in its answer, or in one of its changes."""
    source = Made(SqlConfig.model_validate(dict(task.env_config)))
    database = source.database(task.seed)

    for place, call in _calls(solved, "answer", "change"):
        for kind, sql in mutants(database, call.parsed()["sql"]):
            yield kind, _with(solved, place, call, sql)


def rewritten(task: Task, solved: Transcript) -> Edited:
    """A solved episode whose answer is put another way."""
    for place, call in _calls(solved, "answer"):
        sql = str(call.parsed()["sql"])
        pretty = sqlglot.parse_one(sql, dialect="sqlite").sql(dialect="sqlite", pretty=True)
        in_table = f"WITH found AS ({sql}) SELECT * FROM found"
        yield "in a common table", _with(solved, place, call, in_table)
        yield "in lines", _with(solved, place, call, f"{pretty};")


def _calls(solved: Transcript, *tools: str) -> Iterator[tuple[tuple[int, int], ToolCall]]:
    """The calls of some tools by (turn, place in it)."""
    for at, turn in enumerate(solved.actions):
        for place, call in enumerate(turn.tool_calls):
            if call.name in tools:
                yield (at, place), call


def _with(
    solved: Transcript, place: tuple[int, int], call: ToolCall, sql: str
) -> Sequence[AgentTurn]:
    """The turns with another statement in one call."""
    return edited(solved.actions, {place: call_of(call.call_id, call.name, {"sql": sql})})


_MADE = _World()
WORLD = EnvEntry(
    spec=SPEC,
    open=_MADE.open,
    make_tasks=_MADE.make_tasks,
    config=SqlConfig,
    level="level",
    write_goal=_MADE.write_goal,
    reword=_MADE.reword,
    exploring=exploring,
    mutants=with_slips,
    alternatives=rewritten,
)


def _bound(settings: FileSettings) -> EnvEntry:
    """The entry over a user's file."""
    world = _World(settings)
    return replace(
        WORLD_OF_FILE,
        open=world.open,
        make_tasks=world.make_tasks,
        write_goal=world.write_goal,
        reword=world.reword,
        start_state=world.start_state,
        start=None,
    )


WORLD_OF_FILE = EnvEntry(
    spec=FILE_SPEC,
    open=unbound,
    make_tasks=unbound,
    config=SqlConfig,
    level="level",
    exploring=exploring,
    told_apart_by=("explored_seed",),
    start=EnvStart(FileSettings, _bound, ("database",)),
)
