"""Trajectories and tasks as columns, and back; what is written is what is read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from synth.ledger.tables import TABLES
from synth.ledger.tables.evidence import evidence_tables
from synth.schemas import (
    Authorship,
    Check,
    CheckResult,
    Fault,
    Observation,
    Origin,
    Outcome,
    SampledBy,
    Task,
    Termination,
    ToolCall,
    ToolSchema,
    Trajectory,
    Turn,
    Usage,
)

T = TypeVar("T")
Column = Callable[[Any], Any]
Records = Mapping[str, Sequence[msgspec.Struct]]
"""What a stage gives the ledger, by table; turns stand in their trajectories."""
_USED = ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd")
_encoder = msgspec.json.Encoder()


def user_notes(turn: Turn) -> list[str]:
    """What a model that plays the user did in a turn, in order: `worded` or `fell_back` per line,
    after the kinds of its deviations.
    """
    notes: list[str] = []

    for wording in (one.wording for one in turn.observations if one.wording is not None):
        notes += [one.kind for refused in wording.turned_down for one in refused.deviations]
        notes.append("fell_back" if wording.fell_back else "worded")

    return notes


def _json(value: Any) -> str | None:
    """A value as JSON text; None is no text."""
    return None if value is None else _encoder.encode(value).decode()


def _as_json(*names: str) -> dict[str, Column]:
    """Writes these fields as JSON."""

    def column(name: str) -> Column:
        return lambda record: _json(getattr(record, name))

    return {name: column(name) for name in names}


WRITERS: Mapping[str, Mapping[str, Column]] = {
    "trajectories": {
        "n_turns": lambda t: len(t.turns),
        "n_tool_calls": lambda t: sum(len(turn.tool_calls) for turn in t.turns),
        "model_calls": attrgetter("totals.calls"),
        "user_calls": attrgetter("user_totals.calls"),
        **{
            f"{of}{name}": attrgetter(f"{of}totals.{name}")
            for of in ("", "user_")
            for name in (*_USED, "unpriced_calls")
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
    # a role's reply has the usage of its one call
    "replies": {
        "model_calls": attrgetter("usage.calls"),
        **{name: attrgetter(f"usage.{name}") for name in _USED},
    },
}
"""The columns that are not simply a field of their name."""


def _optional(read: Callable[[Any], T]) -> Callable[[Any], T | None]:
    """Reads a column in which None stands for nothing."""
    return lambda value: None if value is None else read(value)


def _decoded(kind: Any) -> Column:
    """Reads JSON of a type; raises `msgspec.MsgspecError` for any other text."""
    return msgspec.json.Decoder(kind).decode


READERS: Mapping[str, Mapping[str, Column]] = {
    "turns": {
        # what a policy, an environment or a simulated user wrote, as it was received
        "tool_calls": _decoded(tuple[ToolCall, ...]),
        "observations": _decoded(tuple[Observation, ...]),
        "usage": _optional(_decoded(Usage)),
        "sampled_by": SampledBy,
        **dict.fromkeys(("prompt_token_ids", "completion_token_ids", "logprobs"), _optional(tuple)),
        "repairs": lambda value: tuple(value or ()),
    },
    "trajectories": {
        "outcome": Outcome,
        "termination": Termination,
        "fault": _optional(Fault),
        "authorship": Authorship,
        "sampling": msgspec.json.decode,
        # thousands of trajectories offer the same tools, which are most of what their rows hold
        "tools": lru_cache(maxsize=64)(_decoded(tuple[ToolSchema, ...])),
        "opening": _decoded(tuple[Observation, ...]),
        "check_result": _optional(_decoded(CheckResult)),
    },
    "tasks": {
        "origin": Origin,
        "check": _optional(_decoded(Check)),
        "gold": _optional(_decoded(tuple[ToolCall, ...])),
        **dict.fromkeys(("env_config", "script", "difficulty"), msgspec.json.decode),
    },
}
"""The fields that are not simply what arrow holds of their column."""
_FIELDS: Mapping[Any, Sequence[tuple[str, Column | None]]] = {
    kind: [(name, READERS[table].get(name)) for name in kind.__struct_fields__]
    for kind, table in ((Turn, "turns"), (Trajectory, "trajectories"), (Task, "tasks"))
}
"""The fields of what is read from rows, and how each is read."""
_UNREADABLE = ("tool_calls", "observations", "usage", "sampled_by")
"""The columns of turns in which a value may stand that cannot be read back."""


def table_of(
    name: str, records: Sequence[Any], stage: str, stage_key: str, **given: list[Any]
) -> pa.Table:
    """A row per record; columns that are not `given` are read off the records."""
    given |= {"stage": [stage] * len(records), "stage_key": [stage_key] * len(records)}
    schema, written = TABLES[name], WRITERS.get(name, {})
    arrays = [
        pa.array(
            given.get(field.name)
            or [*map(written.get(field.name) or attrgetter(field.name), records)],
            field.type,
        )
        for field in schema
    ]

    return pa.table(arrays, schema=schema)


def shard_tables(stage: str, stage_key: str, records: Records) -> dict[str, pa.Table]:
    """The tables of one shard of these records by table; those without rows are left out.

    Trajectories give a row each, and one per turn, in their order; scores give rows of the typed
    tables of evidence.
    """
    tables: dict[str, pa.Table] = {}

    for name, found in records.items():
        if name == "scores":
            evidence = evidence_tables(found, stage, stage_key)
            tables |= {
                one: pa.Table.from_pylist(rows, TABLES[one]) for one, rows in evidence.items()
            }
        elif found:
            tables[name] = table_of(name, found, stage, stage_key)

    trajectories: Sequence[Any] = records.get("trajectories", ())

    if trajectories:
        turns = [turn for one in trajectories for turn in one.turns]
        of = [one.trajectory_id for one in trajectories for _ in one.turns]
        tables["turns"] = table_of("turns", turns, stage, stage_key, trajectory_id=of)

    return tables


def turn_of(row: Mapping[str, Any]) -> Turn:
    """A turn from its row."""
    return _record(Turn, {**row, "index": row["turn"], "mask": row["masked"]})


def trajectory_of(row: Mapping[str, Any], turns: Sequence[Turn]) -> Trajectory:
    """A trajectory from its row and its turns."""
    # rows of former versions say nothing of a model that plays the user
    user = _usage(row, "user_", row["user_calls"]) if row.get("user_calls") else Usage()
    totals = _usage(row, "", row["model_calls"])
    given = {"turns": tuple(turns), "totals": totals, "user_totals": user}

    return _record(Trajectory, {**row, **given})


def task_of(row: Mapping[str, Any]) -> Task:
    """A task from its row."""
    return _record(Task, row)


def _record(kind: type[T], row: Mapping[str, Any]) -> T:
    """What a row holds; columns that a former version did not write are empty."""
    return kind(
        **{name: row.get(name) if read is None else read(row[name]) for name, read in _FIELDS[kind]}
    )


def _usage(row: Mapping[str, Any], of: str, calls: int) -> Usage:
    """From the columns whose names begin with `of`. Rows of former versions do not tell which calls
    have no price.
    """
    known = {name: row[f"{of}{name}"] for name in _USED}
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


def check_readable(tables: Mapping[str, pa.Table]) -> None:
    """Raises what `trajectories_of` would raise, without making a turn: that costs as much as all
    else that a commit does.
    """
    if "trajectories" not in tables:
        return

    for name in _UNREADABLE:
        for value in tables["turns"][name].to_pylist():
            READERS["turns"][name](value)

    for row in tables["trajectories"].to_pylist():
        trajectory_of(row, ())
