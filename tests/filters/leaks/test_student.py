"""The filter `leaks` where a student's probabilities say which turns the guidance made likely."""

import asyncio
from collections.abc import Callable
from math import nan
from random import Random
from typing import Any

import msgspec
import pytest

from synth.filters.leaks import FILTER, LeaksConfig, no_leaks
from synth.filters.leaks.evidence import LIKELY, WEIGHT, suspected
from synth.filters.leaks.filter import measure
from synth.filters.leaks.planted import (
    AT_ONCE,
    PlantedTurns,
    _gain,
    bound_of,
    planted_scores,
    planted_situations,
)
from synth.filters.leaks.student import Hearing, heard
from synth.schemas import Case, ModelError, Trajectory, Turn, Verdict
from tests.filters.leaks.students import SECRETS, Student, fails, knows, means_with
from tests.filters.leaks.test_leaks_filter import no_env, retry

HINTED = "The oak one is the better choice."
"""A mere word of the lesson: by the rules it is for a judge."""
SILENT = "Which room is it for?"
Refuses = Callable[[bool, bool], Any]


def decided(text: str, means: Any, config: LeaksConfig | None = None) -> Verdict:
    settings, told = config or LeaksConfig(), middle(retry(text))
    measures = asyncio.run(measure(Case(told, None, no_env), settings, means))
    return asyncio.run(no_leaks(Case(told, None, no_env, measures), settings))


def middle(one: Trajectory) -> Trajectory:
    """With a turn before the pivot, so that the guidance is a message of its own."""
    turns = (Turn(0, "Let me see."), msgspec.structs.replace(one.turns[0], index=1))
    return msgspec.structs.replace(one, turns=turns, pivot_turn=1, system_prompt="Help.")


def why(verdict: Verdict) -> Any:
    return (verdict.detail or {}).get("why")


def test_a_turn_that_the_guidance_made_likely_is_held_back() -> None:
    found = decided("It is a secret of the house.", means_with(Student()))
    assert (found.keep, found.reason, why(found)) == (None, "unverified", "no_judge")
    assert (found.detail or {})["kind"] == LIKELY
    assert decided(SILENT, means_with(Student())).keep is True


def test_a_mere_word_of_the_lesson_counts_no_more_where_a_student_was_not_surprised() -> None:
    assert decided(HINTED, means_with(None)).reason == "unverified"
    found = decided(
        HINTED, means_with(Student(lambda text: -2.0 if text == HINTED else knows(text)))
    )
    assert (found.keep, found.reason) == (True, "clean")
    assert "planted secrets" in (found.detail or {})["scorer"]


def test_a_code_of_the_lesson_is_dropped_whatever_a_student_says() -> None:
    student = Student(lambda text: -2.0)
    assert decided("Is it T-4417?", means_with(student)).keep is False
    assert student.asked == 0, "no model is asked about what a rule has settled"


def test_a_number_of_the_lesson_stays_suspected_whatever_a_student_says() -> None:
    student = Student(lambda text: -2.0 + 2 * knows(text))
    assert decided("It must be the one ending in 417.", means_with(student)).keep is None


@pytest.mark.parametrize("gain", [lambda text: 0.0, lambda text: -knows(text)])
def test_a_student_that_does_not_find_what_was_planted_is_not_heard(gain: Any) -> None:
    means = means_with(Student(gain))
    assert decided(HINTED, means).reason == "unverified"
    assert means.said[0].startswith("leaks: 'student' is not heard: finds ")
    assert decided(SILENT, means_with(Student(gain))).keep is True


def test_what_no_student_could_change_costs_few_questions_or_none() -> None:
    """A turn that many planted ones outweigh, and one that a judge who is not there must see."""
    student = Student()
    clean = decided(SILENT, means_with(student))
    assert student.asked == 2 * (AT_ONCE + 1)
    told = "8 of 92 planted harmless turns, and maybe more, weigh as much"
    assert (clean.keep, clean.detail) == (True, {"scorer": told})

    student = Student()
    assert decided("It must be the one ending in 417.", means_with(student)).keep is None
    assert student.asked == 0


@pytest.mark.parametrize(
    ("refuses", "reason"),
    [
        (lambda planted, told: None if planted else fails(), "scorer_fault"),
        (lambda planted, told: fails(), "scorer_fault"),
        (lambda planted, told: fails(retryable=False), "scorer_fault"),
        (
            lambda planted, told: None if planted else ModelError("long", context_overflow=True),
            "too_long",
        ),
        (lambda planted, told: None if planted else "context_length", "too_long"),
        (lambda planted, told: None if planted else "no_tools", "no_tools"),
        (lambda planted, told: None if planted else "other tokens", "turns_become_other_tokens"),
    ],
)
def test_nothing_is_clean_because_a_student_failed(refuses: Refuses, reason: str) -> None:
    found = decided(SILENT, means_with(Student(refuses=refuses)))
    assert (found.keep, found.reason, why(found)) == (None, "unverified", reason)


def test_probabilities_that_are_no_numbers_are_a_fault() -> None:
    broken = Student(lambda text: nan if text == SILENT else knows(text))
    assert why(decided(SILENT, means_with(broken))) == "scorer_fault"


def test_a_template_without_a_place_for_a_lesson_is_no_fault_and_leaves_the_rules() -> None:
    means = means_with(
        Student(refuses=lambda planted, told: fails(retryable=False) if told else None)
    )
    found = decided(SILENT, means)
    assert (found.keep, found.detail) == (True, {"scorer": "takes_no_lesson"})
    assert decided(HINTED, means).reason == "unverified"
    assert means.faults == []


def test_a_model_without_probabilities_is_told_once_and_leaves_the_rules() -> None:
    means = means_with(None)
    assert decided(SILENT, means).keep is True
    assert "gives no probabilities" in means.said[0]


def test_planted_turns_are_scored_once_for_a_process_and_again_after_a_fault() -> None:
    student = Student(lambda text: -1.0)
    for _ in range(2):
        assert decided(HINTED, means_with(student)).reason == "unverified"
    harmless = sum(len(one.harmless) for one in planted_situations())
    assert 2 * harmless < student.asked <= 2 * (harmless + len(SECRETS)) + 4
    asked = student.asked
    decided(HINTED, means_with(student))
    assert student.asked == asked + 2

    down = Student(refuses=lambda planted, told: fails())
    assert why(decided(SILENT, means_with(down))) == "scorer_fault"
    down.refuses = None
    assert decided(SILENT, means_with(down)).keep is True


def test_bounds_are_those_of_planted_turns_and_a_student_is_judged_without_the_rules() -> None:
    even = tuple(n / 10 for n in range(20))
    planted = PlantedTurns((0.0, 1.0, 2.0, 3.0), even, (0.0, 0.0, 0.0, 9.0), even)
    assert bound_of(even, 0.1) == 1.7
    assert bound_of(even, 0.0) == 1.9
    told = "finds 2 of 4 planted secrets (1 without the rules), and one in 2 of 20 harmless turns"
    assert planted.told(0.1) == told
    assert planted.found_alone(0.1) == 1


class Whole:
    """All planted turns of a student, and what they come to, worked out without stopping early."""

    def __init__(self, student: Student, how: Hearing) -> None:
        found: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
        for one in planted_situations():
            for secret, texts in ((True, one.secrets), (False, one.harmless)):
                found[secret] += [
                    asyncio.run(_gain(student, one, text)) for text in texts[: how.each]
                ]
        (gains, self._weights), (alone, _) = (
            list(map(list, zip(*found[secret], strict=True))) for secret in (False, True)
        )
        self._over = int(how.most_false * len(gains))
        bound = sorted(gains)[-1 - self._over]
        self.heard = sum(gain > bound for gain in alone) >= how.finds * len(alone)

    def likely(self, weight: float) -> bool:
        return bool(weight > sorted(self._weights)[-1 - self._over])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_what_is_left_out_changes_no_decision(seed: int) -> None:
    """Students that know much, little or nothing, turns of any weight, settings of any kind."""
    draw = Random(seed)
    knowing, spread = draw.choice([0.0, 0.5, 1.5]), draw.choice([0.1, 1.0])

    def gain(text: str) -> float:
        own = Random(f"{seed} {text}").gauss(0.0, spread)
        return own + knowing * (text in SECRETS)

    how = Hearing(
        draw.choice([0.1, 0.25, 0.6]), draw.choice([0.0, 0.06, 0.3]), draw.choice([3, 10])
    )
    whole, student = Whole(Student(gain), how), Student(gain)
    planted = planted_scores(student, how.each)
    for text in (SILENT, HINTED, "I look for it in the list, then.", "Was it recalled?"):
        told = middle(retry(text))
        ruled = suspected(Case(told, None, no_env))
        found = asyncio.run(
            heard(told, {one.turn for one in ruled if one.weak}, student, planted, how)
        )
        ((_, weight),) = found.weights
        expected = {LIKELY} if whole.likely(weight) else set[str]()
        expected |= {one.kind for one in ruled if not one.weak}
        if not whole.heard:
            expected = {one.kind for one in ruled}
        assert {one.kind for one in suspected(Case(told, None, no_env), found)} == expected
        assert found.heard in (None, whole.heard)


def test_what_was_weighed_is_kept_with_the_model_and_what_it_made_of_planted_turns() -> None:
    case = Case(middle(retry("It is a secret.")), None, no_env)
    weight, _ = asyncio.run(measure(case, LeaksConfig(), means_with(Student())))
    assert (weight.metric, weight.turn) == (WEIGHT, 1)
    kept = msgspec.json.decode(msgspec.json.encode(weight.about), type=FILTER.about)
    assert (kept, kept.model) == (weight.about, "small")
    assert (kept.heard, kept.likely, kept.planted.of) == (True, (1,), (80, 92))
    assert len(kept.planted.harmless) == 92
    assert len(kept.planted.secrets) == 24, "a quarter of 80 is enough, eight at a time"


def test_no_student_is_asked_where_the_settings_name_none() -> None:
    student = Student()
    found = decided(SILENT, means_with(student), LeaksConfig(scorer=None))
    assert (found.keep, student.asked) == (True, 0)
    assert list(FILTER.optional_roles(LeaksConfig())) == ["judge", "student"]
    assert list(FILTER.optional_roles(LeaksConfig(scorer=None))) == ["judge"]
