"""The filter `leaks` without a judge, and with one that has been seen to find what was planted."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from synth.engine.asking import UnreadableError
from synth.filters.leaks import LeaksConfig, no_leaks
from synth.filters.leaks.asking import read
from synth.filters.leaks.calibration import EACH, Calibration, planted_questions
from synth.filters.leaks.filter import METRIC, JudgedLeak, suspected
from synth.schemas import Case, Completion, Measure, Observation, Source, Task, Trajectory, Turn
from tests.trajectories import make_trajectory

LESSON = "The oak table T-4417 has been recalled. Ask for the room first."


def no_env(name: str, config: Mapping[str, Any]) -> Any:
    raise AssertionError("this filter opens no environment")


def retry(text: str, guidance: str | None = LESSON) -> Trajectory:
    return msgspec.structs.replace(
        make_trajectory(turns=0),
        pivot_turn=0,
        guidance=guidance,
        opening=(Observation("My table wobbles.", Source.USER),),
        turns=(Turn(0, text),),
    )


def verdict(text: str, *measures: Measure, guidance: str | None = LESSON) -> tuple[Any, str]:
    case = Case(retry(text, guidance), None, no_env, measures)
    found = asyncio.run(no_leaks(case, LeaksConfig()))
    return found.keep, found.reason


def judged(value: float | None, **about: Any) -> Measure:
    return Measure(METRIC, value, about=JudgedLeak(**about))


GOOD, DEAF, NERVOUS = (
    Calibration(16, 13, 32, 3),
    Calibration(16, 12, 32, 0),
    Calibration(16, 16, 32, 4),
)
ALLUDES = "My mentor advised me after the lost round that I ask."


@pytest.mark.slow
@pytest.mark.parametrize("text", [ALLUDES, "The oak one was recalled."])
def test_what_needs_a_judge_and_had_none_is_unverified(text: str) -> None:
    assert verdict(text) == (None, "unverified")


def test_what_needs_no_judge_is_clean_or_dropped_without_one() -> None:
    assert verdict("Which room is it for?") == (True, "clean")
    assert verdict("Is it T-4417?") == (False, "literal_of_guidance")
    assert verdict(ALLUDES, guidance=None) == (None, "not_guided")


@pytest.mark.parametrize(
    ("value", "known", "expected"),
    [
        (1.0, GOOD, (False, "judged_leak")),
        (0.0, GOOD, (True, "cleared")),
        (0.0, DEAF, (None, "unverified")),
        (1.0, NERVOUS, (None, "unverified")),
        (None, GOOD, (None, "unverified")),
    ],
)
def test_only_a_judge_that_found_what_was_planted_decides(
    value: float | None, known: Calibration, expected: tuple[bool | None, str]
) -> None:
    assert verdict(ALLUDES, judged(value, calibration=known)) == expected


def test_a_fault_of_the_judge_decides_nothing() -> None:
    assert verdict(ALLUDES, judged(None, fault="judge", message="500")) == (None, "unverified")


def test_leaks_and_harmless_turns_are_planted_half_and_half() -> None:
    found = list(planted_questions(0.5))
    assert [planted for planted, _ in found].count(True) == 2 * EACH
    assert [planted for planted, _ in found].count(False) == 2 * EACH
    assert found == list(planted_questions(0.5))


def test_a_reply_of_another_form_is_unreadable() -> None:
    assert read(Completion(content='{"reason": "r", "leaks": true}'))
    with pytest.raises(UnreadableError):
        read(Completion(content='{"leaks": "perhaps"}'))


def test_codes_that_only_the_check_knows_are_suspected() -> None:
    task = Task(task_id="t", env="e", goal="g", script={"order": "O-88213"})
    said = retry("It must be the one that ends in 8213.")
    assert suspected(Case(said, task, no_env))
    assert not suspected(Case(said, None, no_env))
