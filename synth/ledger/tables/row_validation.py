"""A value that no column can hold (a number past 64 bits, text that is no UTF-8, a negative count)
ends its own trajectory, never the shard.

A shard is built and read back. Where that fails, each column of each record is tried alone.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec
import pyarrow as pa

from synth.ledger.tables import TABLES
from synth.ledger.tables.rows import READERS, WRITERS, Records, check_readable, shard_tables
from synth.schemas import Fault, Outcome, SynthError, Termination, Trajectory, Usage

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
    **dict.fromkeys(_OF_ENVIRONMENT.split(), Fault.ENVIRONMENT),
    **dict.fromkeys(_OF_MODEL.split(), Fault.MODEL),
    "user_totals": Fault.USER_SIMULATOR,
}
"""The boundary at which a field got its value; every other one comes from our own machinery."""
_FIELDS = (
    {"turn": "index", "masked": "mask", "user_simulator": "observations"}
    | {f"{of}{name}": f"{of}totals" for of in ("", "user_") for name in Usage.__struct_fields__}
    | {"model_calls": "totals"}
)
"""The field that a column holds, or is counted from, where it is not the one of its name."""
_KEPT = {"outcome", "termination", "fault"}
"""Optional or not, a trajectory cannot be made without them."""


def storable_shard(
    stage: str, stage_key: str, records: Records
) -> tuple[Sequence[Trajectory], dict[str, pa.Table], list[tuple[Trajectory, Trajectory]]]:
    """The trajectories as they can be held, the shard's tables, and of each trajectory that had to
    become invalid for it what it was and what it is now.

    Raises `SynthError` for any other record that cannot be held.
    """
    given: Sequence[Any] = records.get("trajectories", ())

    try:
        return given, _readable_tables(stage, stage_key, records), []
    except UNSTORABLE:
        kept = [with_storable_values(trajectory) for trajectory in given]

    records = {**records, "trajectories": kept}

    for table, record in ((table, one) for table, found in records.items() for one in found):
        try:
            _readable_tables("", "", {table: [record]})
        except UNSTORABLE as error:
            said = f"a row of {table} cannot be stored ({_line(error)}): {record!r}"
            raise SynthError(f"stage {stage}: {said}"[:600]) from error

    ended = [(old, new) for old, new in zip(given, kept, strict=True) if new is not old]

    return kept, _readable_tables(stage, stage_key, records), ended


def ended_line(trajectory: Trajectory) -> str:
    """One line for a trajectory that became invalid on its way into the ledger."""
    return (
        f"trajectory {trajectory.trajectory_id}: {trajectory.fault_detail}; committed as "
        f"invalid ({trajectory.fault})"
    )


def _readable_tables(stage: str, stage_key: str, records: Records) -> dict[str, pa.Table]:
    """The tables of a shard that can be read back: none may be committed that stops every later
    reader.
    """
    tables = shard_tables(stage, stage_key, records)
    check_readable(tables)
    return tables


def with_storable_values(trajectory: Trajectory) -> Trajectory:
    """The trajectory itself; or, where a value cannot be held, an invalid attempt that ends before
    it and names the field.
    """
    of_all, of_turn = _unstorable("trajectories", trajectory), dict[str, str]()
    cut = len(trajectory.turns)

    for index, turn in enumerate(trajectory.turns):
        of_turn = _unstorable("turns", turn)
        if of_turn:
            cut = index
            break

    if not of_all and not of_turn:
        return trajectory

    lines = [f"turn {cut}: {name}: {why}" for name, why in of_turn.items()]
    lines += [f"{name}: {why}" for name, why in of_all.items()]

    if trajectory.fault_detail is not None and "fault_detail" not in of_all:
        lines.insert(0, trajectory.fault_detail)
    blank = {name: value for name, value in _blank(trajectory).items() if name in of_all}

    if "totals" in of_all:
        usages = (turn.usage for turn in trajectory.turns[:cut] if turn.usage is not None)
        blank["totals"] = sum(usages, Usage())

    boundary = _BOUNDARY.get(next(iter([*of_turn, *of_all])), Fault.INFRASTRUCTURE)
    changes = blank | {
        "outcome": Outcome.INVALID,
        "termination": Termination.FAULT,
        "fault": trajectory.fault or boundary,
        "fault_detail": ("a value that the ledger cannot hold: " + "; ".join(lines))[:500],
        "reward": None,
        "check_result": None,
        "turns": trajectory.turns[:cut],
    }

    return msgspec.structs.replace(trajectory, **changes)


def _unstorable(table: str, record: msgspec.Struct) -> dict[str, str]:
    """The fields of a turn or trajectory that no column can hold, each with the reason."""
    found: dict[str, str] = {}

    for column in TABLES[table]:
        field = _FIELDS.get(column.name, column.name)
        if not hasattr(record, field):  # the stage, and of a turn its trajectory
            continue
        try:
            cell = WRITERS[table].get(column.name, attrgetter(field))(record)
            (value,) = pa.array([cell], column.type).to_pylist()
            READERS[table].get(column.name, lambda value: value)(value)
        except UNSTORABLE as error:
            found.setdefault(field, _line(error))

    return found


def _blank(record: msgspec.Struct) -> Mapping[str, Any]:
    """The optional fields of a record, empty."""
    return {
        field.name: field.default
        if field.default is not msgspec.NODEFAULT
        else field.default_factory()
        for field in msgspec.structs.fields(record)
        if not field.required and field.name not in _KEPT
    }


def _line(error: BaseException) -> str:
    """An error in one line, no longer than a person reads."""
    return " ".join(str(error).split())[:200]
