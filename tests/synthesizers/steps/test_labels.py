"""What labels are worth once all tests of their stage are counted."""

import pytest

from synth.engine.funnel import funnel_markdown
from synth.engine.study.step_tests import LABEL, StoredTest
from synth.engine.study.step_tests import TestSummary as Summary
from synth.schemas.evidence.labels import StepLabel


def row(subject: str, value: float | None, label: StepLabel) -> StoredTest:
    return StoredTest(subject, LABEL, value, 0, label, "key")


def rows(
    accepted: int,
    tests: int,
    control_accepted: int = 0,
    controls: int = 0,
    method: str = "sequential",
    at_one_state: int = 1,
) -> list[StoredTest]:
    """So many tests and controls, the first of each accepted; so many tests at one state."""

    def one(number: int, accepted: bool, control: bool) -> StoredTest:
        label = StepLabel(accepted=accepted, control=control, method=method, stopped_at=4)
        return row(f"t{number // at_one_state}", 1.0 if accepted else 0.0, label)

    found = [one(n, n < accepted, False) for n in range(tests)]
    return found + [one(n, n < control_accepted, True) for n in range(controls)]


@pytest.mark.parametrize(
    ("accepted", "tests", "status"),
    [
        (1, 16, "weak"),  # P = 1 - (1 - .012054)^16 = .176
        (2, 16, "weak"),  # P = .0157
        (3, 16, "confirmed"),  # P = .0009, and .012054 x 16 / 3 = .064
        (6, 100, "weak"),  # P = .0015, but .012054 x 100 / 6 = .201
        (7, 100, "confirmed"),
    ],
)
def test_labels_are_confirmed_where_neither_luck_nor_a_fifth_of_false_ones_explains_them(
    accepted: int, tests: int, status: str
) -> None:
    recorded = rows(accepted, tests, 0, 5)
    labels = Summary(recorded).labels(recorded)
    found = [label.detail for label in labels if isinstance(label.detail, StepLabel)]
    statuses = [label.status for label in found]
    assert statuses == [status] * accepted + ["rejected"] * (tests - accepted) + ["control"] * 5
    assert {label.fdr for label in found} == {0.012054 * tests / accepted}


def test_tests_that_share_a_state_are_one_stroke_of_luck() -> None:
    alone, together = rows(4, 16), rows(4, 16, at_one_state=4)
    assert not Summary(alone).control.weak
    assert Summary(together).control.weak, "one of four states"


@pytest.mark.parametrize(
    ("control_accepted", "controls", "status"),
    [
        (0, 26, "confirmed"),
        (2, 26, "confirmed"),  # P = .040
        (3, 26, "weak"),  # P = .0037
        (2, 10, "weak"),  # P = .0061
    ],
)
def test_a_control_that_is_accepted_too_often_makes_all_labels_weak(
    control_accepted: int, controls: int, status: str
) -> None:
    summary = Summary(rows(30, 100, control_accepted, controls))
    assert summary.status(StepLabel(accepted=True, method="sequential")) == status


def test_flips_of_a_deterministic_policy_are_counted_apart_and_never_weak() -> None:
    flips = rows(3, 5, method="flip_deterministic")
    recorded = [*rows(1, 10, 5, 10), *flips]
    findings = Summary(recorded)
    assert findings.control.weak
    assert findings.false_share == pytest.approx(0.12054), "10 tests, of which 1 was accepted"
    assert [findings.status(row.about) for row in flips] == ["confirmed"] * 3 + ["rejected"] * 2
    assert findings.report(0)["control"] == {"accepted": 5, "tests": 10}


def test_a_test_without_a_verdict_counts_in_no_rate() -> None:
    lost = row("u", None, StepLabel(method="sequential", stopped_at=2, reason="faults"))
    none = row("n", None, StepLabel(untested="no_alternative"))
    recorded = [*rows(2, 4, 0, 2), lost, none]
    findings = Summary(recorded)
    assert findings.report(0)["continuations_per_test"] == 8
    assert findings.report(0)["rejected"] == {"no_alternative": 1, "no_effect": 2, "faults": 1}
    assert findings.report(0)["attempted"] == 6
    assert [
        label.detail.status
        for label in findings.labels([lost, none])
        if isinstance(label.detail, StepLabel)
    ] == ["undefined"]


def test_the_funnel_shows_the_control_with_its_count_and_what_luck_explains() -> None:
    table = funnel_markdown({"critical_step": Summary(rows(5, 100, 1, 20)).report(3)})
    assert "| critical_step | 100 | 0 | step tests | rejected: 95 no_effect, 5 weak |" in table
    assert "- critical_step: A/A: 1 of 20 accepted (95 % 0.001 to 0.249); " in table
    assert "at most 0.24 of them expected to be false (5 accepted of 100 tests); " in table
    assert "chance of 5 of 100 states by luck 0.0074; " in table
    assert "more than 0.2 false, or a chance above 0.01: all labels are weak; " in table
    assert "8.0 continuations per test" in table
    assert "3 trials with steps left to a rerun" in table
