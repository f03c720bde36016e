"""Wasted turns: each kind in a trajectory written by hand, and what looks like waste and is
none.
"""

from typing import Any

import pytest

from synth.schemas.trajectory import Turn
from synth.topology.keys import trajectory_keys
from synth.topology.waste import waste_share, wasted
from tests.synth.topology.trials import trial, turn


def found(turns: list[Turn], **changes: Any) -> dict[str, list[int]]:
    one = trial("1", turns, True, **changes)
    return wasted(one, trajectory_keys(one))


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([turn(0, "get", id=1), turn(1, "look"), turn(2, "get", id=1)], {"redundant_read": [2]}),
        ([turn(0, "get", id=1), turn(1, "set", to=1), turn(2, "get", id=1)], {}),
        ([turn(0, "get", id=1), turn(1, "get", id=2)], {}),
        ([turn(0, "get", "sent", id=1), turn(1, "look"), turn(2, "get", "arrived", id=1)], {}),
        ([turn(n, "set", "busy", to=1) for n in range(4)], {"blind_retry": [2, 3]}),
        ([turn(0, "set", "busy", to=1), turn(1, "set", "ok", to=1)], {}),
    ],
    ids=[
        "read again",
        "read after a change",
        "another read",
        "another answer",
        "retried blindly",
        "retried once",
    ],
)
def test_waste_is_found_by_kind(turns: list[Turn], expected: dict[str, list[int]]) -> None:
    assert found(turns) == expected


def test_a_cycle_is_waste_from_its_second_round_on() -> None:
    turns = [turn(n, "ab"[n % 2] + "_set", "busy") for n in range(6)]
    assert found(turns)["cycle"] == [2, 3, 4, 5]


def test_what_was_done_and_undone_is_a_regression() -> None:
    turns = [
        turn(0, "set", state="b", to=1),
        turn(1, "get", state="b"),
        turn(2, "set", state="a", to=0),
        turn(3, "set", state="c", to=2),
    ]
    assert found(turns, opening_state_key="a") == {"regression": [0, 2]}


def test_a_share_counts_each_turn_once() -> None:
    assert waste_share({"cycle": [2, 3], "redundant_read": [3]}, 8) == 0.25
    assert waste_share({}, 0) == 0.0
