"""What labels are worth once the control of their stage is counted."""

import pytest

from synth.engine.funnel import funnel_markdown
from synth.engine.study.step_tests import LABEL, StoredTest
from synth.engine.study.step_tests import TestSummary as Summary
from synth.schemas.labels import StepLabel


def row(subject: str, value: float | None, label: StepLabel) -> StoredTest:
    return StoredTest(subject, LABEL, value, 0, label, "key")


def rows(
    accepted: int,
    tests: int,
    control_accepted: int = 0,
    controls: int = 0,
    method: str = "sequential",
) -> list[StoredTest]:
    """So many tests and controls, the first of each accepted."""

    def one(number: int, accepted: bool, control: bool) -> StoredTest:
        label = StepLabel(accepted=accepted, control=control, method=method, stopped_at=4)
        return row(f"t{number}", 1.0 if accepted else 0.0, label)

    found = [one(n, n < accepted, False) for n in range(tests)]
    return found + [one(n, n < control_accepted, True) for n in range(controls)]


@pytest.mark.parametrize(
    ("control_accepted", "share", "status"),
    [(0, 0.0, "confirmed"), (1, 0.2, "confirmed"), (2, 0.4, "weak")],
)
def test_beyond_a_fifth_of_expected_false_discoveries_all_labels_of_the_stage_are_weak(
    control_accepted: int, share: float, status: str
) -> None:
    recorded = rows(25, 100, control_accepted, 20)
    labels = Summary(recorded).labels(recorded)
    assert Summary(recorded).false_share == pytest.approx(share)
    found = [label.detail for label in labels if isinstance(label.detail, StepLabel)]
    statuses = [label.status for label in found]
    assert statuses == [status] * 25 + ["rejected"] * 75 + ["control"] * 20
    assert all(label.fdr == pytest.approx(share) for label in found)


def test_flips_of_a_deterministic_policy_are_counted_apart_and_never_weak() -> None:
    flips = rows(3, 5, method="flip_deterministic")
    recorded = [*rows(1, 10, 5, 10), *flips]
    findings = Summary(recorded)
    assert findings.false_share == 1.0, (
        "5 of 10 controls, so 5 of 10 tests, of which 1 was accepted"
    )
    assert [findings.status(row.about) for row in flips] == ["confirmed"] * 3 + ["rejected"] * 2
    assert findings.report(0)["control"] == {"accepted": 5, "tests": 10}


def test_a_test_without_a_verdict_counts_in_no_rate() -> None:
    lost = row("u", None, StepLabel(method="sequential", stopped_at=2, reason="faults"))
    none = row("n", None, StepLabel(untested="no_alternative"))
    recorded = [*rows(1, 4, 0, 2), lost, none]
    findings = Summary(recorded)
    assert findings.report(0)["continuations_per_test"] == 8
    assert findings.report(0)["rejected"] == {"no_alternative": 1, "no_effect": 3, "faults": 1}
    assert findings.report(0)["attempted"] == 6
    assert [
        label.detail.status
        for label in findings.labels([lost, none])
        if isinstance(label.detail, StepLabel)
    ] == ["undefined"]


def test_the_funnel_shows_the_control_with_its_count_and_interval() -> None:
    table = funnel_markdown({"critical_step": Summary(rows(25, 100, 2, 20)).report(3)})
    assert "| critical_step | 100 | 0 | step tests | rejected: 75 no_effect, 25 weak |" in table
    assert "- critical_step: A/A: 2 of 20 accepted (95 % 0.012 to 0.317); " in table
    assert (
        "expected share of false discoveries 0.40 (25 accepted of 100 tests); that is more than "
        "0.2: all labels are weak; " in table
    )
    assert "8.0 continuations per test" in table
    assert "3 trials with steps left to a rerun" in table
