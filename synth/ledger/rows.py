"""Trajectories and tasks as columns, and back; what is written is what is read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from synth.ledger.evidence import evidence_tables
from synth.ledger.tables import TABLES
from synth.schemas.check import Check, CheckResult
from synth.schemas.outcome import Fault, Outcome, Termination
from synth.schemas.task import Origin, Task
from synth.schemas.trajectory import (
    Authorship,
    Observation,
    SampledBy,
    ToolCall,
    ToolSchema,
    Trajectory,
    Turn,
    Usage,
)

T = TypeVar("T")
Column = Callable[[Any], Any]
_OF_USE = ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd")
_encoder = msgspec.json.Encoder()


def user_notes(turn: Turn) -> list[str]:
    """What a model that plays the user did in a turn, in order: `worded` or `fell_back` per line,
    after the kinds of its deviations.
    """
    wordings = [one.wording for one in turn.observations if one.wording is not None]
    return [
        note
        for wording in wordings
        for note in (
            *(one.kind for turned_down in wording.turned_down for one in turned_down.deviations),
            "fell_back" if wording.fell_back else "worded",
        )
    ]


def _json(value: Any) -> str | None:
    return None if value is None else _encoder.encode(value).decode()


def _as_json(*names: str) -> dict[str, Column]:
    def column(name: str) -> Column:
        return lambda record: _json(getattr(record, name))

    return {name: column(name) for name in names}


_WRITTEN: Mapping[str, Mapping[str, Column]] = {
    "trajectories": {
        "n_turns": lambda t: len(t.turns),
        "n_tool_calls": lambda t: sum(len(turn.tool_calls) for turn in t.turns),
        "model_calls": attrgetter("totals.calls"),
        "user_calls": attrgetter("user_totals.calls"),
        **{
            f"{of}{name}": attrgetter(f"{of}totals.{name}")
            for of in ("", "user_")
            for name in (*_OF_USE, "unpriced_calls")
        },
        **_as_json("sampling", "tools", "opening", "check_result"),
    },
    "turns": {
        "turn": attrgetter("index"),
        "masked": attrgetter("mask"),
        "user_simulator": user_notes,
        **_as_json("tool_calls", "observations", "usage"),
    },
    "tasks": _as_json("check", "gold", "env_config", "script", "difficulty"),
    "decisions": _as_json("detail"),
}
"""The columns that are not simply a field of their name."""


def _optional(read: Callable[[Any], T]) -> Callable[[Any], T | None]:
    return lambda value: None if value is None else read(value)


def _decoded(kind: Any) -> Column:
    return msgspec.json.Decoder(kind).decode


_CHECKED_OF_TURN: Mapping[str, Column] = {
    "tool_calls": _decoded(tuple[ToolCall, ...]),
    "observations": _decoded(tuple[Observation, ...]),
    "usage": _optional(_decoded(Usage)),
    "sampled_by": SampledBy,
}
"""The columns of turns in which a value may stand that cannot be read back; any other is read as
what arrow holds.
"""
_OF_TURN: Mapping[str, Column] = {
    **_CHECKED_OF_TURN,
    **dict.fromkeys(("prompt_token_ids", "completion_token_ids", "logprobs"), _optional(tuple)),
    "repairs": lambda value: tuple(value or ()),
}
_OF_TRAJECTORY: Mapping[str, Column] = {
    "outcome": Outcome,
    "termination": Termination,
    "fault": _optional(Fault),
    "authorship": Authorship,
    "sampling": msgspec.json.decode,
    "tools": _decoded(tuple[ToolSchema, ...]),
    "opening": _decoded(tuple[Observation, ...]),
    "check_result": _optional(_decoded(CheckResult)),
}
_OF_TASK: Mapping[str, Column] = {
    "origin": Origin,
    "check": _optional(_decoded(Check)),
    "gold": _optional(_decoded(tuple[ToolCall, ...])),
    **dict.fromkeys(("env_config", "script", "difficulty"), msgspec.json.decode),
}


def _table(
    name: str, records: Sequence[Any], stage: str, stage_key: str, **given: list[Any]
) -> pa.Table:
    """A row per record; columns that are not `given` are read off the records."""
    given |= {"stage": [stage] * len(records), "stage_key": [stage_key] * len(records)}
    schema, written = TABLES[name], _WRITTEN.get(name, {})
    arrays = [
        pa.array(
            given.get(field.name)
            or [*map(written.get(field.name) or attrgetter(field.name), records)],
            field.type,
        )
        for field in schema
    ]
    return pa.table(arrays, schema=schema)


def trajectory_table(trajectories: Sequence[Trajectory], stage: str, stage_key: str) -> pa.Table:
    """One row per trajectory, without its turns."""
    return _table("trajectories", trajectories, stage, stage_key)


def turn_table(trajectories: Sequence[Trajectory], stage: str, stage_key: str) -> pa.Table:
    """One row per turn, in the order of the trajectories."""
    turns = [turn for t in trajectories for turn in t.turns]
    of = [t.trajectory_id for t in trajectories for _ in t.turns]
    return _table("turns", turns, stage, stage_key, trajectory_id=of)


def shard_tables(
    stage: str,
    stage_key: str,
    trajectories: Sequence[Trajectory],
    tasks: Sequence[Task],
    records: Mapping[str, Sequence[msgspec.Struct]],
) -> dict[str, pa.Table]:
    """The tables of one shard, `records` by table; those without rows are left out."""
    tables: dict[str, pa.Table] = {}
    if trajectories:
        tables["turns"] = turn_table(trajectories, stage, stage_key)
        tables["trajectories"] = trajectory_table(trajectories, stage, stage_key)
    others = {name: found for name, found in records.items() if name != "scores"}
    for name, found in {"tasks": tasks, **others}.items():
        if found:
            tables[name] = _table(name, found, stage, stage_key)
    evidence = evidence_tables(records.get("scores", ()), stage, stage_key)
    return tables | {
        name: pa.Table.from_pylist(rows, TABLES[name]) for name, rows in evidence.items()
    }


def turn_of(row: dict[str, Any]) -> Turn:
    """A turn from its row."""
    return _record(Turn, {**row, "index": row["turn"], "mask": row["masked"]}, _OF_TURN)


def trajectory_of(row: dict[str, Any], turns: Sequence[Turn]) -> Trajectory:
    """A trajectory from its row and its turns. In rows of runs in which no model could play the user
    nothing stands of one.
    """
    user = _usage(row, "user_", row["user_calls"]) if row.get("user_calls") else Usage()
    totals = _usage(row, "", row["model_calls"])
    given = {"turns": tuple(turns), "totals": totals, "user_totals": user}
    return _record(Trajectory, {**row, **given}, _OF_TRAJECTORY)


def task_of(row: dict[str, Any]) -> Task:
    """A task from its row."""
    return _record(Task, row, _OF_TASK)


def _record(kind: type[T], row: Mapping[str, Any], read: Mapping[str, Column]) -> T:
    """What a row holds; columns that a former version did not write are empty."""
    return kind(
        **{
            name: read[name](row[name]) if name in read else row.get(name)
            for name in kind.__struct_fields__  # type: ignore[attr-defined]
        }
    )


def _usage(row: dict[str, Any], of: str, calls: int) -> Usage:
    """From the columns whose names begin with `of`. Rows of former versions do not tell which calls
    have no price.
    """
    known = {name: row[f"{of}{name}"] for name in _OF_USE}
    return Usage(**known, calls=calls, unpriced_calls=row.get(f"{of}unpriced_calls") or 0)


def trajectories_of(trajectories: pa.Table, turns: pa.Table) -> Iterator[Trajectory]:
    """A shard's trajectories from its two tables. Raises `msgspec.ValidationError` for a value that
    may not be.
    """
    by_trajectory: dict[str, list[Turn]] = {}
    for row in turns.to_pylist():
        by_trajectory.setdefault(row["trajectory_id"], []).append(turn_of(row))
    for row in trajectories.to_pylist():
        yield trajectory_of(row, by_trajectory.get(row["trajectory_id"], ()))


def check_readable(trajectories: pa.Table, turns: pa.Table) -> None:
    """Raises what `trajectories_of` would raise, without making a turn: that costs as much as all
    else that a commit does.
    """
    for name, read in _CHECKED_OF_TURN.items():
        for value in turns[name].to_pylist():
            read(value)
    for row in trajectories.to_pylist():
        trajectory_of(row, ())
