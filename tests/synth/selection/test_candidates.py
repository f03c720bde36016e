"""Candidates: what stands behind a success, what of it carries loss, and which is better."""

from typing import Any

import msgspec
import pytest

from synth.schemas.check import CheckResult, SubVerdict
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Observation, ToolCall, Trajectory, Turn
from synth.selection.candidates import (
    candidate,
    is_candidate,
    loss_by_tool,
    loss_characters,
)
from synth.success_evidence import evidence
from synth.text.provenance.effect import effectful_by_name
from tests.trajectories import make_trajectory


def cancelling(shown: str | None, *, process: bool | None = None) -> Trajectory:
    """Cancels O-4471 after an order was shown, if any; the check has a part on process constraints,
    if told so.
    """
    turns = (
        []
        if shown is None
        else [
            Turn(
                0,
                tool_calls=(ToolCall.received("a", "get_order", "{}"),),
                observations=(seen(shown),),
            )
        ]
    )
    turns.append(
        Turn(
            len(turns),
            tool_calls=(ToolCall.received("b", "cancel_order", '{"order_id": "O-4471"}'),),
        )
    )
    parts = () if process is None else (SubVerdict("process", process),)
    return msgspec.structs.replace(
        make_trajectory(tools=(), check_result=CheckResult(True, parts)), turns=tuple(turns)
    )


def seen(order: str) -> Observation:
    return Observation(f'{{"order_id": "{order}"}}', call_id="a", name="get_order")


@pytest.mark.parametrize(
    ("shown", "process", "passes", "expected"),
    [
        ("O-4471", None, None, ("provenance",)),
        ("O-4471", True, None, ("process", "provenance")),
        ("O-4471", False, None, ("provenance",)),
        (None, None, None, ()),
        (
            "O-9999",
            True,
            None,
            (),
            # the check may need the constraints for a pass, so they do not outweigh an invented
            # argument
        ),
        (None, True, 1.0, ()),
        (None, None, 2.0, ("reexecution",)),
    ],
)
def test_what_stands_behind_a_success_besides_its_outcome(
    shown: str | None, process: bool | None, passes: float | None, expected: tuple[str, ...]
) -> None:
    assert evidence(cancelling(shown, process=process), passes) == expected


def test_where_nothing_is_judged_kept_constraints_are_evidence() -> None:
    reads = make_trajectory(check_result=CheckResult(True, (SubVerdict("process", True),)))
    assert evidence(reads) == ("process",)


def test_what_is_proven_is_better_than_what_is_short() -> None:
    proven = candidate(cancelling("O-4471"), {"waste": 0.9, "efficiency": 0.1}, effectful_by_name)
    guessed = candidate(cancelling(None), {"waste": 0.0, "efficiency": 1.0}, effectful_by_name)
    assert proven.rank > guessed.rank


@pytest.mark.parametrize(
    ("changes", "tested", "expected"),
    [
        ({}, False, True),
        ({"synthesizer": "critical_step"}, False, False),
        ({"synthesizer": "failure_injection"}, True, True),
        ({"outcome": Outcome.FAILURE, "reward": 0.0}, False, False),
    ],
)
def test_a_candidate_is_a_success_that_was_played_to_be_learnt_or_is_asked_for(
    changes: dict[str, Any], tested: bool, expected: bool
) -> None:
    assert is_candidate(make_trajectory(**changes), tested=tested) is expected


def test_loss_is_counted_by_tool_where_turns_carry_any() -> None:
    turns = (
        Turn(0, content="Hello"),
        Turn(1, tool_calls=(ToolCall.received("a", "look", '{"at": 1}'),)),
        Turn(2, tool_calls=(ToolCall.received("b", "look", "{}"),), mask="injected"),
    )
    trajectory = msgspec.structs.replace(make_trajectory(), turns=turns)
    assert list(loss_by_tool(trajectory)) == [("says", 5), ("look", 13)]
    assert loss_characters(trajectory) == 18
    assert loss_characters(trajectory, {0: "excursion"}) == 13
