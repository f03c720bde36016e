"""The A/A control: where it says that too many accepted tests are false, all labels are weak, those
concluded before as well.
"""

from pathlib import Path
from typing import Any

import pytest

from synth.engine.study.step_tests import ErrorControl
from synth.ledger import StoredLedger
from synth.ledger.conclude import finalize_labels
from synth.ledger.ledger import Score, StageRef
from synth.ledger.log.manifest import StageLine
from synth.ledger.typed import committed
from synth.ledger.views import connect
from synth.schemas.evidence.labels import AttributionLabel
from synth.synthesizers.failures.records import TESTS, Judged, ended, labels

REF = StageRef("failure_injection", "key")


def judged(
    metric: str,
    *,
    accepted: bool,
    method: str = "sequential",
    label: str = "injection",
    subject: str = "t",
    twin: str | None = None,
) -> Judged:
    about = AttributionLabel(method=method, label=label, strategy="rule", clean_twin_id=twin)
    return Judged(subject, metric, float(accepted), 3, about, REF.stage_key)


def test_the_share_is_the_rules_false_accepts_times_tests_by_accepted() -> None:
    """10 tests, 5 accepted: .012054 x 10 / 5, whatever the controls say. Flips are not among
    them.
    """
    tests = [judged("injection_test", accepted=at < 5) for at in range(10)]
    tests += [judged("injection_test", accepted=True, method="flip_deterministic")] * 7
    controls = [judged("injection_control", accepted=at < 1) for at in range(4)]
    assert ErrorControl(map(ended, tests + controls)).false_share == 0.024108
    assert ErrorControl(map(ended, tests)).false_share == 0.024108


@pytest.mark.parametrize(
    ("twins", "worth"),
    [
        (("a", "b"), "confirmed"),  # two states, both accepted: .012054 squared
        (("a", "a"), "weak"),  # one state with two tests: .0228
        ((None, None), "confirmed"),  # repairs: states of their own trials
    ],
)
def test_what_luck_at_one_state_may_explain_is_weak(
    twins: tuple[str | None, ...], worth: str
) -> None:
    tests = [
        judged("injection_test", accepted=True, subject=f"t{at}", twin=twin)
        for at, twin in enumerate(twins)
    ]
    label, _ = labels(tests)
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
    controls = [judged("injection_control", accepted=True)] * 2
    found = labels([flip, weak, *controls])
    assert [(label.metric, label.value) for label in found] == [
        ("observation_fault", 1.0),
        ("repair", 0.0),
    ]


def judged_in(ledger: StoredLedger) -> list[Judged]:
    return list(committed(ledger, REF.stage_key, AttributionLabel, TESTS))


def rows(ledger: StoredLedger) -> list[Any]:
    with connect(ledger) as connection:
        return connection.execute(
            "SELECT metric, value FROM scores WHERE metric IN ('injection', 'repair') ORDER BY ALL"
        ).fetchall()


def test_a_label_that_was_confirmed_early_is_weak_once_later_controls_say_so(
    tmp_path: Path,
) -> None:
    ledger = StoredLedger(str(tmp_path / "run"), create=True)
    ledger.begin_stage(StageLine(REF.stage, REF.stage_key, {}))
    about = {"method": "sequential", "label": "injection"}
    tests = [Score(name, "injection_test", 1.0, 3, about) for name in "tu"]
    ledger.commit(REF, scores=tests)
    finalize_labels(ledger, REF, scores=labels(judged_in(ledger)))
    assert rows(ledger) == [("injection", 1.0)] * 2
    controls = [Score(name, "injection_control", 1.0, 3, {"method": "sequential"}) for name in "tu"]
    ledger.commit(REF, scores=controls)
    finalize_labels(ledger, REF, scores=labels(judged_in(ledger)))
    assert rows(ledger) == [("injection", 0.0)] * 2, "the early ones are in no view any more"
    assert rows(StoredLedger(str(tmp_path / "run"))) == [("injection", 0.0)] * 2
    before = ledger.state.lines
    finalize_labels(ledger, REF, scores=labels(judged_in(ledger)))
    assert ledger.state.lines == before, "the same conclusion is not written twice"
