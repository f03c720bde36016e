"""The A/A control: where it says that too many accepted tests are false, what it stands beside is weak."""

from typing import Any

from synth.ledger.ledger import Score
from synthesizers.failures.control import Judged, false_share, judged_among, tempered


def row(metric: str, value: float | None, method: str = "sequential", **detail: Any) -> Score:
    return Score("t", metric, value, 3, {"method": method, "status": "confirmed", **detail})


def test_the_share_is_the_controls_accept_rate_times_tests_by_accepted() -> None:
    """1 of 4 controls accepted; 10 tests, 5 accepted: 1/4 x 10 / 5 = .5. Flips are not among them."""
    tests = [Judged("injection", at < 5, "sequential") for at in range(10)] + [Judged("injection", True, "flip_deterministic")] * 7
    controls = [Judged("injection_control", at < 1, "sequential") for at in range(4)]
    assert false_share(tests + controls) == 0.5
    assert false_share(tests) is None


def test_labels_of_the_sequential_test_become_weak_above_the_limit_and_their_attempts_with_them() -> None:
    note = Score("t", "injection_attempt", 1.0, None, {"reason": "confirmed"})
    flip, weak = row("injection", 1.0, "flip_deterministic"), row("injection", 0.0)
    given = [row("injection", 1.0), note]
    assert tempered([*given, weak], 0.2) == [*given, weak]
    label, attempt = tempered(given, 0.21)
    assert (label.value, label.detail and label.detail["status"]) == (0.0, "weak")
    assert (attempt.value, attempt.detail) == (0.0, {"reason": "weak_by_control"})
    assert tempered([flip, weak], 0.9) == [flip, weak]


def test_a_label_that_was_made_weak_still_counts_as_accepted() -> None:
    (label,) = tempered([row("injection", 1.0)], 0.5)
    assert judged_among([label]) == [Judged("injection", True, "sequential")]
    assert judged_among([row("injection", None)]) == [], "a replayed rest was tested by nobody"
