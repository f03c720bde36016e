"""What a stage makes of its step tests: labels once the A/A control is counted, a report."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synth.engine.numbers import counted_noun
from synth.ledger.ledger import Score
from synth.ledger.typed import Read
from synth.schemas.labels import Status, StepLabel, given
from synth.stats.intervals import clopper_pearson
from synth.stats.sequential import MOST_FALSE, expected_false_share

TEST, LABEL, VALUE = "step_test", "critical_step", "step_value"
"""Metrics: a test as it ended; the label that stands on it; successes of an act's continuations."""


Recorded = Read[StepLabel]
"""A test row as the ledger holds it."""


class TestSummary:
    """The test rows of a stage, counted: tests that came to a verdict, those of a control, flips,
    and the rest.
    """

    def __init__(self, recorded: Sequence[Recorded]) -> None:
        found = [row.about for row in recorded]
        self.untested = [test for test in found if given(test.untested) is not None]
        tested = [test for test in found if given(test.untested) is None]
        self.undefined = [test for test in tested if given(test.accepted) is None]
        verdicts = [test for test in tested if given(test.accepted) is not None]
        self.controls = [test for test in verdicts if test.control]
        decided = [test for test in verdicts if not test.control]
        self.flips = [test for test in decided if test.method == "flip_deterministic"]
        self.tests = [test for test in decided if test.method == "sequential"]

    @property
    def false_share(self) -> float | None:
        """The expected share of false discoveries among accepted sequential tests; None where it
        was not measured.
        """
        return expected_false_share(
            _accepted(self.controls), len(self.controls), len(self.tests), _accepted(self.tests)
        )

    @property
    def weak(self) -> bool:
        """Whether the control says that too many of the accepted steps are none."""
        return self.false_share is not None and self.false_share > MOST_FALSE

    def labels(self, recorded: Sequence[Recorded]) -> list[Score]:
        """The labels that stand on test rows; where nothing was tested there is none."""
        return [
            Score(
                row.subject_id,
                LABEL,
                row.value,
                row.turn,
                msgspec.structs.replace(
                    row.about, status=self.status(row.about), fdr=self.false_share
                ),
            )
            for row in recorded
            if given(row.about.untested) is None
        ]

    def status(self, test: StepLabel) -> Status:
        """What a label made of a test is worth."""
        if test.control:
            return "control"
        if given(test.accepted) is None:
            return "undefined"
        if not test.accepted:
            return "rejected"
        return "weak" if self.weak and test.method == "sequential" else "confirmed"

    def report(self, still_open: int) -> Mapping[str, Any]:
        """For the funnel; what the control measured stands there in words and in numbers.
        `still_open` trials are left to a rerun.
        """
        real = [
            *self.tests,
            *self.flips,
            *(test for test in self.undefined if not test.control),
        ]
        statuses = Counter(self.status(test) for test in real)
        rejected = Counter(str(test.untested) for test in self.untested)
        rejected += Counter({"no_effect": statuses["rejected"], "weak": statuses["weak"]})
        rejected += Counter(str(test.reason) for test in real if given(test.accepted) is None)
        return {
            "kind": "method",
            "unit": "step tests",
            "attempted": len(real) + len(self.untested),
            "verified": statuses["confirmed"],
            "rejected": dict(rejected),
            "also": list(self._also(still_open)),
            "control": {"accepted": _accepted(self.controls), "tests": len(self.controls)},
            "expected_false_share": self.false_share,
            "weak": self.weak,
            "continuations_per_test": _continuations(self.tests),
            "left_open": still_open,
        }

    def _also(self, still_open: int) -> Iterator[str]:
        controls, accepted = len(self.controls), _accepted(self.controls)
        if controls:
            low, high = clopper_pearson(accepted, controls)
            yield f"A/A: {accepted} of {controls} accepted (95 % {low:.3f} to {high:.3f})"
        elif self.tests:
            yield "A/A: none, so false accepts are not measured"
        if self.false_share is not None:
            counted = f"{_accepted(self.tests)} accepted of {len(self.tests)} tests"
            yield f"expected share of false discoveries {self.false_share:.2f} ({counted})"
        if self.weak:
            yield f"that is more than {MOST_FALSE:g}: all labels are weak"
        if self.tests:
            yield (
                f"{_continuations(self.tests):.1f} continuations per test, shared ones "
                "counted in each"
            )
        if self.flips:
            yield (
                f"{counted_noun(len(self.flips), 'flip')} of a deterministic policy, "
                f"{_accepted(self.flips)} from failure to success"
            )
        if still_open:
            yield f"{counted_noun(still_open, 'trial')} with steps left to a rerun"


def _accepted(tests: Sequence[StepLabel]) -> int:
    return sum(test.accepted is True for test in tests)


def _continuations(tests: Sequence[StepLabel]) -> float | None:
    """The mean over tests, both sides together."""
    return sum(2 * (given(test.stopped_at) or 0) for test in tests) / len(tests) if tests else None
