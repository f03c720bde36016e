"""Trajectories and tasks as columns, and back; what is written is what is read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

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
    Wording,
)

_CALLS = msgspec.json.Decoder(tuple[ToolCall, ...])
_OBSERVATIONS = msgspec.json.Decoder(tuple[Observation, ...])
_USAGE = msgspec.json.Decoder(Usage)
_TOOLS = msgspec.json.Decoder(tuple[ToolSchema, ...])
_CHECK_RESULT = msgspec.json.Decoder(CheckResult)
_CHECKED_OF_TURN: Mapping[str, Callable[[Any], Any]] = {
    "tool_calls": _CALLS.decode,
    "observations": _OBSERVATIONS.decode,
    "usage": lambda text: None if text is None else _USAGE.decode(text),
    "sampled_by": SampledBy,
}
"""The columns of turns in which a value may stand that cannot be read back; any other is read as
what arrow holds.
"""
_OF_USE = ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd")
_encoder = msgspec.json.Encoder()


def _json(value: Any) -> str | None:
    return None if value is None else _encoder.encode(value).decode()


def _table(name: str, columns: dict[str, list[Any]], stage: str, stage_key: str) -> pa.Table:
    rows = len(next(iter(columns.values())))
    columns |= {"stage": [stage] * rows, "stage_key": [stage_key] * rows}
    schema = TABLES[name]
    return pa.table([pa.array(columns[field.name], field.type) for field in schema], schema=schema)


def trajectory_table(trajectories: Sequence[Trajectory], stage: str, stage_key: str) -> pa.Table:
    """One row per trajectory, without its turns."""
    ts = trajectories
    same = [
        "trajectory_id",
        "slot_id",
        "attempt",
        "task_id",
        "env",
        "trial",
        "synthesizer",
        "parent_id",
        "pivot_turn",
        "policy",
        "model",
    ]
    same += [
        "weights_id",
        "seed",
        "outcome",
        "reward",
        "fault",
        "termination",
        "authorship",
        "gold_informed",
        "source",
        "created_at",
    ]
    same += [
        "fault_detail",
        "benchmark",
        "system_prompt",
        "opening_state_key",
        "content_hash",
        "split",
        "role",
        "user_model",
        "guidance",
    ]
    columns: dict[str, list[Any]] = {name: [getattr(t, name) for t in ts] for name in same}
    columns |= {
        "n_turns": [len(t.turns) for t in ts],
        "n_tool_calls": [sum(len(turn.tool_calls) for turn in t.turns) for t in ts],
        "prompt_tokens": [t.totals.prompt_tokens for t in ts],
        "completion_tokens": [t.totals.completion_tokens for t in ts],
        "cached_tokens": [t.totals.cached_tokens for t in ts],
        "cost_usd": [t.totals.cost_usd for t in ts],
        "model_calls": [t.totals.calls for t in ts],
        "unpriced_calls": [t.totals.unpriced_calls for t in ts],
        **{
            f"user_{name}": [getattr(t.user_totals, name) for t in ts]
            for name in ("calls", *_OF_USE, "unpriced_calls")
        },
        "sampling": [_json(t.sampling) for t in ts],
        "tools": [_json(t.tools) for t in ts],
        "opening": [_json(t.opening) for t in ts],
        "check_result": [_json(t.check_result) for t in ts],
    }
    return _table("trajectories", columns, stage, stage_key)


def turn_table(trajectories: Sequence[Trajectory], stage: str, stage_key: str) -> pa.Table:
    """One row per turn, in the order of the trajectories."""
    pairs = [(t.trajectory_id, turn) for t in trajectories for turn in t.turns]
    turns = [turn for _, turn in pairs]
    columns: dict[str, list[Any]] = {
        name: [getattr(turn, name) for turn in turns]
        for name in (
            "agent",
            "thought",
            "content",
            "state_key",
            "reward",
            "sampled_by",
            "injected",
            "latency_ms",
        )
    }
    columns |= {
        name: [getattr(turn, name) for turn in turns]
        for name in ("prompt_token_ids", "completion_token_ids", "logprobs", "raw")
    }
    columns |= {
        "trajectory_id": [identity for identity, _ in pairs],
        "turn": [turn.index for turn in turns],
        "masked": [turn.mask for turn in turns],
        "repairs": [turn.repairs for turn in turns],
        "user_simulator": [user_notes(turn) for turn in turns],
        "tool_calls": [_json(turn.tool_calls) for turn in turns],
        "observations": [_json(turn.observations) for turn in turns],
        "usage": [_json(turn.usage) for turn in turns],
    }
    return _table("turns", columns, stage, stage_key)


def user_notes(turn: Turn) -> list[str]:
    """What a model that plays the user did in a turn, in order: `worded` or `fell_back` per line,
    after the kinds of its deviations.
    """
    wordings = [
        observation.wording for observation in turn.observations if observation.wording is not None
    ]
    return [
        note
        for wording in wordings
        for note in (*_kinds(wording), "fell_back" if wording.fell_back else "worded")
    ]


def _kinds(wording: Wording) -> list[str]:
    return [
        deviation.kind
        for turned_down in wording.turned_down
        for deviation in turned_down.deviations
    ]


def task_table(tasks: Sequence[Task], stage: str, stage_key: str) -> pa.Table:
    """One row per task."""
    same = ("task_id", "env", "goal", "origin", "seed", "split", "benchmark", "parent")
    columns: dict[str, list[Any]] = {name: [getattr(task, name) for task in tasks] for name in same}
    columns |= {
        name: [_json(getattr(t, name)) for t in tasks]
        for name in ("check", "gold", "env_config", "script", "difficulty")
    }
    return _table("tasks", columns, stage, stage_key)


def record_table(
    name: str, records: Sequence[msgspec.Struct], stage: str, stage_key: str
) -> pa.Table:
    """Decisions, replies and the like, one row each; their `detail` as JSON."""
    columns = {
        field.name: [getattr(record, field.name) for record in records]
        for field in TABLES[name]
        if field.name not in ("stage", "stage_key", "detail")
    }
    columns["detail"] = [_json(getattr(record, "detail", None)) for record in records]
    return _table(name, columns, stage, stage_key)


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
    if tasks:
        tables["tasks"] = task_table(tasks, stage, stage_key)
    for name, found in records.items():
        if name == "scores":
            tables |= {
                table: _table(table, columns, stage, stage_key)
                for table, columns in evidence_tables(found, stage, stage_key).items()
            }
        elif found:
            tables[name] = record_table(name, found, stage, stage_key)
    return tables


def turn_of(row: dict[str, Any]) -> Turn:
    """A turn from its row."""
    tuples: dict[str, Any] = {
        name: tuple(row[name]) if row[name] is not None else None
        for name in ("prompt_token_ids", "completion_token_ids", "logprobs")
    }
    return Turn(
        index=row["turn"],
        content=row["content"],
        thought=row["thought"],
        agent=row["agent"],
        state_key=row["state_key"],
        reward=row["reward"],
        mask=row["masked"],
        injected=row["injected"],
        latency_ms=row["latency_ms"],
        repairs=tuple(row["repairs"] or ()),
        raw=row["raw"],
        **{name: read(row[name]) for name, read in _CHECKED_OF_TURN.items()},
        **tuples,
    )


def trajectory_of(row: dict[str, Any], turns: Sequence[Turn]) -> Trajectory:
    """A trajectory from its row and its turns."""
    same = (
        "trajectory_id",
        "slot_id",
        "attempt",
        "task_id",
        "env",
        "trial",
        "synthesizer",
        "parent_id",
        "pivot_turn",
        "policy",
        "model",
    )
    more = (
        "weights_id",
        "seed",
        "reward",
        "gold_informed",
        "source",
        "created_at",
        "fault_detail",
        "benchmark",
        "system_prompt",
    )
    return Trajectory(
        **{name: row[name] for name in (*same, *more, "opening_state_key")},
        content_hash=row.get("content_hash"),
        split=row.get("split"),
        role=row.get("role"),
        user_model=row.get("user_model"),
        guidance=row.get("guidance"),
        user_totals=_user_totals(row),
        outcome=Outcome(row["outcome"]),
        termination=Termination(row["termination"]),
        fault=Fault(row["fault"]) if row["fault"] is not None else None,
        authorship=Authorship(row["authorship"]),
        sampling=msgspec.json.decode(row["sampling"]),
        tools=_TOOLS.decode(row["tools"]),
        opening=_OBSERVATIONS.decode(row["opening"]),
        check_result=_CHECK_RESULT.decode(row["check_result"])
        if row["check_result"] is not None
        else None,
        totals=_usage(row, "", row["model_calls"]),
        turns=tuple(turns),
    )


def _user_totals(row: dict[str, Any]) -> Usage:
    """Nothing in the rows of runs in which no model could play the user."""
    return _usage(row, "user_", row["user_calls"]) if row.get("user_calls") else Usage()


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


def task_of(row: dict[str, Any]) -> Task:
    """A task from its row."""
    return Task(
        **{
            name: row[name]
            for name in ("task_id", "env", "goal", "seed", "split", "benchmark", "parent")
        },
        origin=Origin(row["origin"]),
        check=msgspec.json.decode(row["check"], type=Check) if row["check"] is not None else None,
        gold=_CALLS.decode(row["gold"]) if row["gold"] is not None else None,
        **{name: msgspec.json.decode(row[name]) for name in ("env_config", "script", "difficulty")},
    )
