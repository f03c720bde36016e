"""What cannot be held (a number past 64 bits, text that is no UTF-8, a count below zero) ends its
own trajectory, never the shard.

A shard is built and read back; where that fails, each field is put alone through the same tables.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from synth.ledger.rows import check_readable, shard_tables
from synth.schemas.errors import SynthError
from synth.schemas.outcome import Fault, Outcome, Termination
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory, Turn, Usage

S = TypeVar("S", bound=msgspec.Struct)

UNSTORABLE = (
    pa.ArrowException,
    msgspec.MsgspecError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What pyarrow and msgspec raise for a value of the wrong size, type or encoding."""

_OF_ENVIRONMENT = """
    observations state_key reward system_prompt tools opening opening_state_key check_result
"""
_OF_MODEL = """
    content thought tool_calls usage latency_ms prompt_token_ids completion_token_ids logprobs
    repairs raw totals weights_id
"""
_BOUNDARY = {
    Fault.ENVIRONMENT: _OF_ENVIRONMENT.split(),
    Fault.MODEL: _OF_MODEL.split(),
    Fault.USER_SIMULATOR: ["user_totals"],
}
"""Who gave a field its value; what is in neither list comes from our own machinery."""

_KEPT = {"outcome", "termination", "fault"}
"""Optional or not, a trajectory cannot be made without them."""


def storable_shard(
    stage: str,
    stage_key: str,
    trajectories: Sequence[Trajectory],
    tasks: Sequence[Task],
    records: Mapping[str, Sequence[msgspec.Struct]],
) -> tuple[Sequence[Trajectory], dict[str, pa.Table], list[Trajectory]]:
    """The trajectories as they can be held, the shard's tables, and those of the trajectories that
    had to become invalid for it.

    Raises `SynthError` for any other record that cannot be held.
    """
    try:
        return trajectories, _readable_tables(stage, stage_key, trajectories, tasks, records), []
    except UNSTORABLE:
        kept = [with_storable_values(trajectory) for trajectory in trajectories]
    for table, rows in (("trajectories", kept), ("tasks", tasks), *records.items()):
        for record in rows:
            problem = _problem(table, record)
            if problem is not None:
                raise SynthError(
                    f"stage {stage}: a row of {table} cannot be stored ({problem}): {record!r}"[
                        :600
                    ]
                )
    ended = [new for old, new in zip(trajectories, kept, strict=True) if new is not old]
    return kept, _readable_tables(stage, stage_key, kept, tasks, records), ended


def ended_line(trajectory: Trajectory) -> str:
    """One line for a trajectory that became invalid on its way into the ledger."""
    return (
        f"trajectory {trajectory.trajectory_id}: {trajectory.fault_detail}; committed as "
        f"invalid ({trajectory.fault})"
    )


def _readable_tables(
    stage: str, stage_key: str, trajectories: Sequence[Trajectory], *others: Any
) -> dict[str, pa.Table]:
    """The tables of a shard whose trajectories can be read back: none may be committed that stops
    every later reader.
    """
    tables = shard_tables(stage, stage_key, trajectories, *others)
    if trajectories:
        check_readable(tables["trajectories"], tables["turns"])
    return tables


def with_storable_values(trajectory: Trajectory) -> Trajectory:
    """The trajectory itself; or, where a value cannot be held, an invalid attempt that ends before
    it and names the field.
    """
    if _problem("trajectories", trajectory) is None:
        return trajectory
    bare = msgspec.structs.replace(trajectory, turns=())
    cut, problems = len(trajectory.turns), dict[str, str]()
    for index, turn in enumerate(trajectory.turns):
        problems = _unstorable(turn, partial(_with_turn, bare))
        if problems:
            cut = index
            break
    of_turn = [f"turn {cut}: {name}: {why}" for name, why in problems.items()]
    of_all = _unstorable(bare, lambda alone: alone)
    lines = [*of_turn, *(f"{name}: {why}" for name, why in of_all.items())]
    if trajectory.fault_detail is not None and "fault_detail" not in of_all:
        lines.insert(0, trajectory.fault_detail)
    blank = {name: value for name, value in _blank(trajectory).items() if name in of_all}
    if "totals" in of_all:
        blank["totals"] = sum(
            (turn.usage for turn in trajectory.turns[:cut] if turn.usage is not None), Usage()
        )
    changes = blank | {
        "outcome": Outcome.INVALID,
        "termination": Termination.FAULT,
        "fault": trajectory.fault or _boundary(next(iter([*problems, *of_all]), "")),
        "fault_detail": ("a value that the ledger cannot hold: " + "; ".join(lines))[:500],
        "reward": None,
        "check_result": None,
        "turns": trajectory.turns[:cut],
    }
    return msgspec.structs.replace(trajectory, **changes)


def _problem(table: str, record: Any) -> str | None:
    """Why a record does not fit its table, or None."""
    rows = {table: [record]}
    try:
        _readable_tables("", "", rows.pop("trajectories", ()), rows.pop("tasks", ()), rows)
    except UNSTORABLE as error:
        return " ".join(str(error).split())[:200]
    return None


def _unstorable(record: S, as_trajectory: Callable[[S], Trajectory]) -> dict[str, str]:
    """The fields of a turn or trajectory that no column can hold, each with the reason."""
    blank = _blank(record)
    bare = msgspec.structs.replace(record, **blank)
    found = {}
    for name in blank:
        alone = msgspec.structs.replace(bare, **{name: getattr(record, name)})
        problem = _problem("trajectories", as_trajectory(alone))
        if problem is not None:
            found[name] = problem
    return found


def _with_turn(bare: Trajectory, turn: Turn) -> Trajectory:
    return msgspec.structs.replace(bare, **_blank(bare) | {"turns": (turn,)})


def _blank(record: msgspec.Struct) -> dict[str, Any]:
    """The optional fields of a record, empty."""
    return {
        field.name: field.default
        if field.default is not msgspec.NODEFAULT
        else field.default_factory()
        for field in msgspec.structs.fields(record)
        if not field.required and field.name not in _KEPT
    }


def _boundary(field: str) -> Fault:
    return next(
        (fault for fault, names in _BOUNDARY.items() if field in names), Fault.INFRASTRUCTURE
    )
