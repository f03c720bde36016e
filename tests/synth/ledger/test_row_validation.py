"""A value that no column can hold ends its own trajectory as invalid and names the field; the rest
of the shard is committed.
"""

from typing import Any

import msgspec
import pyarrow as pa
import pytest

from synth.ledger import Decision, Score, StageRef, StoredLedger
from synth.ledger.tables import TABLES
from synth.ledger.tables.row_validation import UNSTORABLE, ended_line, with_storable_values
from synth.ledger.tables.rows import check_readable, shard_tables, trajectories_of
from synth.schemas.check import CheckResult
from synth.schemas.errors import SynthError
from synth.schemas.outcome import Fault, Outcome
from synth.schemas.trajectory import Observation, ToolCall, Trajectory, Usage
from tests.trajectories import make_fault, make_task, make_trajectory, make_turn

REF = StageRef("rollout", "key1")
HUGE = 2**63


def with_turn(index: int, **fields: Any) -> Trajectory:
    """Three turns, the one at `index` with these fields."""
    made = tuple(
        make_turn(i, **{"usage": Usage(10, 5, 0, 1)} | (fields if i == index else {}))
        for i in range(3)
    )
    return msgspec.structs.replace(make_trajectory("bad"), turns=made)


TURNS = [
    ("prompt_token_ids", (1, 2**31), Fault.MODEL),
    ("completion_token_ids", (-(2**40),), Fault.MODEL),
    ("content", "half a \ud83d surrogate", Fault.MODEL),
    ("content", 7, Fault.MODEL),
    ("raw", "\udc00", Fault.MODEL),
    ("usage", Usage(2**53 + 1), Fault.MODEL),
    ("usage", Usage(-1), Fault.MODEL),
    ("tool_calls", ({"name": "no call"},), Fault.MODEL),
    ("tool_calls", (ToolCall("c", "look", "\ud800"),), Fault.MODEL),
    ("logprobs", (10**400,), Fault.MODEL),
    ("observations", (Observation("\ud800"),), Fault.ENVIRONMENT),
    ("reward", 10**400, Fault.ENVIRONMENT),
    ("state_key", b"\xff", Fault.ENVIRONMENT),
    ("injected", "\ud800", Fault.INFRASTRUCTURE),
    ("sampled_by", "nobody", Fault.INFRASTRUCTURE),
]


@pytest.mark.parametrize(
    ("field", "value", "fault"), TURNS, ids=[f"{name}-{i}" for i, (name, _, _) in enumerate(TURNS)]
)
def test_a_turn_that_cannot_be_held_ends_its_trajectory_before_it(
    field: str, value: Any, fault: Fault
) -> None:
    before = with_turn(1, **{field: value})
    ledger = StoredLedger(
        f"memory://storable/{field}{fault}{TURNS.index((field, value, fault))}", create=True
    )
    good = [make_trajectory("first"), make_trajectory("last")]
    (ended,) = ledger.commit(REF, trajectories=[good[0], before, good[1]])
    line = ended_line(ended)
    assert line.startswith(
        f"trajectory {before.trajectory_id}: a value that the ledger cannot hold: turn 1: {field}: "
    )
    assert line.endswith(f"; committed as invalid ({fault})")
    assert [ledger.trajectory(t.trajectory_id) for t in good] == good
    held = ledger.trajectory(before.trajectory_id)
    assert held == ended
    assert (held.outcome, held.fault, held.reward, held.check_result) == (
        Outcome.INVALID,
        fault,
        None,
        None,
    )
    assert held.fault_detail is not None
    assert f"turn 1: {field}: " in held.fault_detail
    assert held.turns == before.turns[:1]
    assert held.totals == before.totals, "what was paid stays counted"
    assert ledger.state.slots["bad"].valid is None
    assert ledger.state.slots["bad"].last_fault == fault


WHOLE = [
    ("totals", Usage(HUGE, 5, 0, 1), Fault.MODEL),
    ("opening", (Observation("\ud800"),), Fault.ENVIRONMENT),
    ("system_prompt", "\ud800", Fault.ENVIRONMENT),
    ("tools", ({"function": object()},), Fault.ENVIRONMENT),
    ("check_result", CheckResult("yes", (), {}, "1"), Fault.ENVIRONMENT),  # type: ignore[arg-type]
    ("reward", 10**400, Fault.ENVIRONMENT),
    ("seed", HUGE, Fault.INFRASTRUCTURE),
    ("sampling", {"stop": "\ud800"}, Fault.INFRASTRUCTURE),
]


@pytest.mark.parametrize(("field", "value", "fault"), WHOLE, ids=[name for name, _, _ in WHOLE])
def test_a_field_of_the_whole_trajectory_is_named_and_left_blank(
    field: str, value: Any, fault: Fault
) -> None:
    before = msgspec.structs.replace(with_turn(0), **{field: value})
    held = with_storable_values(before)
    assert (held.outcome, held.fault) == (Outcome.INVALID, fault)
    assert held.fault_detail is not None
    assert held.fault_detail.startswith(f"a value that the ledger cannot hold: {field}: ")
    assert held.turns == before.turns
    assert with_storable_values(held) is held
    if field == "totals":
        assert held.totals == Usage(30, 15, 0, 3)


def test_a_trajectory_that_can_be_held_is_left_as_it_is() -> None:
    trajectory = make_trajectory(totals=Usage(HUGE - 1))
    assert with_storable_values(trajectory) is trajectory


def test_an_attempt_that_was_invalid_before_keeps_its_fault() -> None:
    before = msgspec.structs.replace(make_fault("a", 0, Fault.TIMEOUT), totals=Usage(HUGE))
    held = with_storable_values(before)
    assert held.fault is Fault.TIMEOUT
    assert held.fault_detail is not None
    assert "it broke; totals: " in held.fault_detail


def test_several_fields_are_all_named() -> None:
    before = msgspec.structs.replace(
        with_turn(0, raw="\ud800", prompt_token_ids=(2**31,)), seed=HUGE
    )
    detail = with_storable_values(before).fault_detail
    assert detail is not None
    assert [
        name
        for name in ("turn 0: prompt_token_ids: ", "turn 0: raw: ", "seed: ")
        if name not in detail
    ] == []


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (
            {"decisions": [Decision("t", "mine", True, "fine", 10**400)]},
            "a row of decisions cannot be stored .*filter='mine'",
        ),
        (
            {"scores": [Score("t", "mine", 0.5, turn=HUGE)]},
            "a row of scores cannot be stored .*metric='mine'",
        ),
        (
            {"tasks": [make_task(seed=HUGE)]},
            "a row of tasks cannot be stored .*seed=9223372036854775808",
        ),
        ({"trajectories": [make_trajectory(trial=HUGE)]}, "a row of trajectories cannot be stored"),
    ],
)
def test_any_other_record_that_cannot_be_held_stops_with_one_line_and_commits_nothing(
    records: Any, message: str
) -> None:
    ledger = StoredLedger(f"memory://storable-other/{next(iter(records))}", create=True)
    with pytest.raises(SynthError, match=message):
        ledger.commit(REF, **records)
    assert ledger.state.lines == 1


@pytest.mark.parametrize(
    ("table", "column"),
    [(table, name) for table in ("trajectories", "turns") for name in TABLES[table].names],
)
@pytest.mark.parametrize("value", ["{", None])
def test_the_check_before_a_commit_refuses_what_a_reader_would_trip_over(
    table: str, column: str, value: str | None
) -> None:
    tables = shard_tables("s", "k", {"trajectories": [with_turn(0)]})
    place, kind = TABLES[table].get_field_index(column), TABLES[table].field(column).type
    spoiled = pa.array([value if kind == pa.string() else None] * len(tables[table]), kind)
    tables[table] = tables[table].set_column(place, TABLES[table].field(column), spoiled)
    assert trips(check_readable, tables) == trips(readers, tables)


def readers(tables: dict[str, pa.Table]) -> None:
    list(trajectories_of(tables["trajectories"], tables["turns"]))


def trips(read: Any, tables: dict[str, pa.Table]) -> bool:
    try:
        read(tables)
    except UNSTORABLE:
        return True
    return False
