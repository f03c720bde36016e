"""SQL in the registry: over databases by seed, and over a user's own file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import msgspec
import sqlglot
from pydantic import BaseModel, ConfigDict

from synth.envs.sql.base.sources import DatabaseSource, FromFile, Made, SqlConfig
from synth.envs.sql.env import SqlEnv
from synth.envs.sql.language.mutants import mutants
from synth.envs.sql.reverse import goal_of
from synth.envs.sql.tasks import made
from synth.envs.sql.tools import SPEC
from synth.envs.transcript import Transcript
from synth.envs.world import EnvEntry, EnvStart, unbound
from synth.policies.scripted import expert_policy
from synth.schemas.canonical import canonical_json, content_hash
from synth.schemas.environment import AgentTurn, Env, EnvSpec
from synth.schemas.policy import Episode, Policy
from synth.schemas.reverse import Draft, NoGoal, Window
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall

FILE_SPEC = msgspec.structs.replace(SPEC, name="sql_file", memory_bytes=64 << 20)


class FileSettings(BaseModel):
    """What only the user says: the SQLite file, which is read and never written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    database: str


@lru_cache(maxsize=8)
def _from_file(path: str, changed_ns: int) -> FromFile:
    return FromFile(Path(path))


def _source(settings: FileSettings | None, config: SqlConfig) -> DatabaseSource:
    if settings is None:
        return Made(config)
    path = Path(settings.database).expanduser()
    return _from_file(str(path), path.stat().st_mtime_ns if path.exists() else 0)


def _spec(settings: FileSettings | None) -> EnvSpec:
    return SPEC if settings is None else FILE_SPEC


def _open(settings: FileSettings | None, config: Mapping[str, Any]) -> Env:
    read = SqlConfig.model_validate(dict(config))
    return SqlEnv(_spec(settings), read, _source(settings, read))


def _make(
    settings: FileSettings | None, config: Mapping[str, Any], seed: int, count: int
) -> Sequence[Task]:
    source = _source(settings, SqlConfig.model_validate(dict(config)))
    return tuple(made(source, config, seed, count, _spec(settings).name))


def _write_goal(settings: FileSettings | None, window: Window) -> Draft | NoGoal:
    config = SqlConfig.model_validate(dict(window.env_config))
    return goal_of(_source(settings, config), config, window)


def exploring(config: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    """A database of its own for each exploration."""
    return {**config, "explored_seed": seed % 2**31}


def _start_state(settings: FileSettings, config: Mapping[str, Any]) -> str:
    return content_hash(_source(settings, SqlConfig()).digest)


def slips(task: Task, solved: Transcript) -> Iterable[tuple[str, Sequence[AgentTurn]]]:
    """A solved episode with one slip in its answer, or in one of its changes."""
    database = Made(SqlConfig.model_validate(dict(task.env_config))).database(
        task.seed, int(str(task.script.get("other", 1)))
    )
    for place, turn in enumerate(solved.actions):
        for call in turn.tool_calls:
            if call.name in ("answer", "change"):
                for kind, sql in mutants(database, call.parsed()["sql"]):
                    yield kind, _with(solved.actions, place, call, sql)


def rewritten(task: Task, solved: Transcript) -> Iterable[tuple[str, Sequence[AgentTurn]]]:
    """A solved episode whose answer is put another way."""
    for place, turn in enumerate(solved.actions):
        for call in turn.tool_calls:
            if call.name != "answer":
                continue
            sql = str(call.parsed()["sql"])
            yield (
                "in a common table",
                _with(solved.actions, place, call, f"WITH found AS ({sql}) SELECT * FROM found"),
            )
            pretty = sqlglot.parse_one(sql, dialect="sqlite").sql(dialect="sqlite", pretty=True)
            yield "in lines", _with(solved.actions, place, call, f"{pretty};")


def _with(turns: Sequence[AgentTurn], place: int, call: ToolCall, sql: str) -> Sequence[AgentTurn]:
    other = ToolCall.received(call.call_id, call.name, canonical_json({"sql": sql}).decode())
    changed = msgspec.structs.replace(turns[place], tool_calls=(other,))
    return (*turns[:place], changed, *turns[place + 1 :])


def hard_coder(episode: Episode) -> Policy:
    """Writes down the rows that it has seen; a change, which has none, it leaves."""
    policy = expert_policy({"profiles": "hard_codes"}, model_name=None, sampling={})
    return policy.open(episode)


WORLD = EnvEntry(
    spec=SPEC,
    open=partial(_open, None),
    make_tasks=partial(_make, None),
    config=SqlConfig,
    level="level",
    write_goal=partial(_write_goal, None),
    exploring=exploring,
    mutants=slips,
    alternatives=rewritten,
)


def _bound(settings: FileSettings) -> EnvEntry:
    return replace(
        WORLD_OF_FILE,
        open=partial(_open, settings),
        make_tasks=partial(_make, settings),
        write_goal=partial(_write_goal, settings),
        start_state=partial(_start_state, settings),
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
