"""The A/A control: where it says that too many accepted tests are false, all labels are weak, those
concluded before as well.
"""

from pathlib import Path
from typing import Any

import pytest

from synth.engine.study.step_tests import ErrorControl
from synth.ledger import Ledger
from synth.ledger.conclude import finalize_labels
from synth.ledger.ledger import Score, StageRef
from synth.ledger.log.manifest import StageLine
from synth.ledger.typed import committed
from synth.ledger.views import connect
from synth.schemas.labels import AttributionLabel
from synth.synthesizers.failures.records import TESTS, Judged, ended, labels

REF = StageRef("failure_injection", "key")


def judged(
    metric: str,
    *,
    accepted: bool,
    method: str = "sequential",
    label: str = "injection",
    subject: str = "t",
) -> Judged:
    about = AttributionLabel(method=method, label=label, strategy="rule")
    return Judged(subject, metric, float(accepted), 3, about, REF.stage_key)


def test_the_share_is_the_controls_accept_rate_times_tests_by_accepted() -> None:
    """1 of 4 controls accepted; 10 tests, 5 accepted: 1/4 x 10 / 5 = .5. Flips are not among
    them.
    """
    tests = [judged("injection_test", accepted=at < 5) for at in range(10)]
    tests += [judged("injection_test", accepted=True, method="flip_deterministic")] * 7
    controls = [judged("injection_control", accepted=at < 1) for at in range(4)]
    assert ErrorControl(map(ended, tests + controls)).false_share == 0.5
    assert ErrorControl(map(ended, tests)).false_share is None


@pytest.mark.parametrize(("controls", "worth"), [(5, "confirmed"), (4, "weak")])
def test_above_a_share_of_a_fifth_what_the_sequential_test_accepted_is_weak(
    controls: int, worth: str
) -> None:
    """One control accepted: of 5, 1/5 x 1 / 1 = .2 is not above the limit; of 4, .25 is."""
    given = [judged("injection_test", accepted=True)]
    given += [judged("injection_control", accepted=at < 1) for at in range(controls)]
    (label,) = labels(given)
    assert isinstance(label.detail, AttributionLabel)
    assert (label.metric, label.value, label.detail.status) == (
        "injection",
        float(worth == "confirmed"),
        worth,
    )


def test_a_flip_stays_and_what_was_not_accepted_is_weak() -> None:
    flip = judged(
        "injection_test", accepted=True, method="flip_deterministic", label="observation_fault"
    )
    weak = judged("repair_test", accepted=False, label="repair")
    controls = [judged("injection_control", accepted=True)]
    found = labels([flip, weak, *controls])
    assert [(label.metric, label.value) for label in found] == [
        ("observation_fault", 1.0),
        ("repair", 0.0),
    ]


def judged_in(ledger: Ledger) -> list[Judged]:
    return list(committed(ledger, REF.stage_key, AttributionLabel, TESTS))


def rows(ledger: Ledger) -> list[Any]:
    with connect(ledger) as connection:
        return connection.execute(
            "SELECT metric, value FROM scores WHERE metric IN ('injection', 'repair') ORDER BY ALL"
        ).fetchall()


def test_a_label_that_was_confirmed_early_is_weak_once_later_controls_say_so(
    tmp_path: Path,
) -> None:
    ledger = Ledger(str(tmp_path / "run"), create=True)
    ledger.begin_stage(StageLine(REF.stage, REF.stage_key, {}))
    test = Score("t", "injection_test", 1.0, 3, {"method": "sequential", "label": "injection"})
    ledger.commit(REF, scores=[test])
    finalize_labels(ledger, REF, scores=labels(judged_in(ledger)))
    assert rows(ledger) == [("injection", 1.0)]
    ledger.commit(REF, scores=[Score("t", "injection_control", 1.0, 3, {"method": "sequential"})])
    finalize_labels(ledger, REF, scores=labels(judged_in(ledger)))
    assert rows(ledger) == [("injection", 0.0)], "the early one is in no view any more"
    assert rows(Ledger(str(tmp_path / "run"))) == [("injection", 0.0)]
    before = ledger.state.lines
    finalize_labels(ledger, REF, scores=labels(judged_in(ledger)))
    assert ledger.state.lines == before, "the same conclusion is not written twice"
