"""A carried memo: what it whispers, and what is measured of it."""

import re
from typing import Any

import pytest
from pydantic import ValidationError

from synth.schemas.evidence.labels import Memo
from synth.stats.pdi import CarriedMemo
from synth.synthesizers.reflect_retry import ReflectRetry
from synth.synthesizers.reflection.guidance import memory_scores, memory_text
from tests.trajectories import make_trajectory

SAME = [
    Memo(
        ("looked",) * n,
        ("find A-2304",),
        ("path: A-2304",),
        "no money",
        "stops_early: go on",
        ("state",),
    )
    for n in (1, 2, 3)
]
FRESH = Memo(("looked",), ("find A-1 B-2",), ("path: A-1 B-2",), None, "first_page: read on", ())
STUCK = [FRESH, *SAME]
"""exec falls at the second memo, plan and oss are 1 from the third on."""
ACTS = CarriedMemo(intervene=True)


def test_the_memo_tells_cause_lessons_and_strategy_but_no_commands_or_failed_tests() -> None:
    text = memory_text([FRESH, SAME[1]], CarriedMemo())
    for said in (
        "In attempt 2: looked",
        "What went wrong last: no money",
        "Lesson: first_page: read on",
        "Next: stops_early: go on",
    ):
        assert f"- {said}" in text
    assert "A-2304" not in text
    assert "find" not in text


def test_an_intervention_is_soft_first_then_strong_and_strong_leaves_the_next_strategy_out() -> (
    None
):
    assert "resemble each other" not in memory_text(STUCK[:3], CarriedMemo())
    soft, strong = memory_text(STUCK[:3], ACTS), memory_text(STUCK, ACTS)
    assert "resemble each other" in soft
    assert "stops_early" in soft
    assert "left out here on purpose" in strong
    assert "stops_early" not in strong
    assert "first_page" in strong


def test_no_name_of_a_measure_is_ever_told() -> None:
    names = re.compile(
        r"\b(pdi|exec|oss|proxy|trigger\w*|score|metric|soft|strong|divergence|memo)\b",
        re.IGNORECASE,
    )
    for text in (memory_text(STUCK[:3], ACTS), memory_text(STUCK, ACTS)):
        assert names.search(text) is None


def test_a_chain_below_three_memos_has_null_for_a_value_and_its_parts_in_the_detail() -> None:
    attempts = [make_trajectory(f"s{i}") for i in range(3)]
    pairs = [(attempt.trajectory_id, memo) for attempt, memo in zip(attempts, STUCK, strict=False)]
    rows = [
        row for row in memory_scores("k", pairs, attempts, CarriedMemo()) if row.metric == "pdi"
    ]
    assert [row.value is None for row in rows] == [True, True, False]
    assert rows[1].detail is not None
    assert (rows[1].detail["why"], rows[1].detail["step"], rows[1].detail["backend"]) == (
        "below_three_attempts",
        1,
        "token_overlap",
    )
    assert rows[2].detail is not None
    assert (rows[2].detail["triggered"], rows[2].detail["level"]) == (True, "soft")


def test_attempts_may_say_that_a_memo_is_carried() -> None:
    def attempts(given: Any) -> Any:
        return ReflectRetry(attempts=given).attempts

    assert attempts(3).memo is None
    found = attempts({"n": 4, "memo": True})
    assert (found.n, found.memo) == (4, CarriedMemo())
    told = attempts({"n": 4, "memo": {"backend": "js_divergence", "intervene": True}})
    assert told.memo == CarriedMemo(backend="js_divergence", intervene=True)
    assert attempts({"n": 2, "memo": False}).memo is None
    for wrong in (
        {"memo": True},
        {"n": 4, "memos": True},
        {"n": 0},
        {"n": 4, "memo": {"backend": "x"}},
    ):
        with pytest.raises(ValidationError):
            attempts(wrong)
