"""Concludes the tests of a stage once its A/A control is counted: the expected share of false
discoveries, labels, a report.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synth.engine.numbers import counted_noun
from synth.engine.study.method import method_report
from synth.ledger import Score
from synth.ledger.typed import Read
from synth.schemas import Status, StepLabel, given
from synth.stats.intervals import clopper_pearson
from synth.stats.sequential import MOST_FALSE, expected_false_share

TEST, LABEL, VALUE = "step_test", "critical_step", "step_value"
"""Metrics: a test as it ended; the label that stands on it; successes of an act's continuations."""
SEQUENTIAL = "sequential"

StoredTest = Read[StepLabel]
"""A test row of the ledger."""


class EndedTest(msgspec.Struct, frozen=True):
    """A test that came to a verdict; a `control` compares an act with itself."""

    accepted: bool
    control: bool
    sequential: bool


class ErrorControl:
    """Counts the tests that came to a verdict beside their A/A control, and estimates the share of
    accepted ones that are false.
    """

    def __init__(self, tests: Iterable[EndedTest]) -> None:
        ended = list(tests)
        self.controls = [test for test in ended if test.control]
        self.tests = [test for test in ended if test.sequential and not test.control]
        self.false_share = expected_false_share(
            accepted(self.controls),
            len(self.controls),
            len(self.tests),
            accepted(self.tests),
        )

        """None where it was not measured."""
        self.weak = self.false_share is not None and self.false_share > MOST_FALSE
        """Whether too many of what the sequential test accepted are expected to be false."""

    def status(self, test: EndedTest) -> Status:
        """The worth of a label that stands on a test."""
        if test.control:
            return "control"
        if not test.accepted:
            return "rejected"
        return "weak" if self.weak and test.sequential else "confirmed"


def accepted(tests: Iterable[EndedTest]) -> int:
    """The number of accepted tests."""
    return sum(test.accepted for test in tests)


class TestSummary:
    """Counts the test rows of a stage."""

    def __init__(self, recorded: Sequence[StoredTest]) -> None:
        labels = [row.about for row in recorded]
        self.untested = [one for one in labels if given(one.untested) is not None]
        self.tested = [one for one in labels if given(one.untested) is None]
        ended = [_ended(one) for one in self.tested if given(one.accepted) is not None]
        self.control = ErrorControl(ended)
        self.flips = [test for test in ended if not test.sequential and not test.control]

    @property
    def false_share(self) -> float | None:
        """See `ErrorControl`."""
        return self.control.false_share

    def labels(self, recorded: Sequence[StoredTest]) -> list[Score]:
        """The labels that stand on test rows, none where nothing was tested."""
        found = []
        for row in recorded:
            if given(row.about.untested) is None:
                status = self.status(row.about)
                label = msgspec.structs.replace(row.about, status=status, fdr=self.false_share)
                found.append(Score(row.subject_id, LABEL, row.value, row.turn, label))
        return found

    def status(self, label: StepLabel) -> Status:
        """The worth of a label that stands on a test."""
        undefined = given(label.accepted) is None and not label.control
        return "undefined" if undefined else self.control.status(_ended(label))

    def report(self, still_open: int) -> Mapping[str, Any]:
        """The report of kind `method`, with the control in words and in numbers. `still_open`
        trials are left to a rerun.
        """

        real = [label for label in self.tested if not label.control]
        statuses = Counter(map(self.status, real))
        rejected = Counter(str(label.untested) for label in self.untested)
        rejected += Counter({"no_effect": statuses["rejected"], "weak": statuses["weak"]})
        rejected += Counter(str(one.reason) for one in real if given(one.accepted) is None)
        controls = self.control.controls

        return method_report(
            "step tests",
            len(real) + len(self.untested),
            statuses["confirmed"],
            rejected,
            also=list(self._also(still_open)),
            control={
                "accepted": accepted(controls),
                "tests": len(controls),
            },
            expected_false_share=self.false_share,
            weak=self.control.weak,
            continuations_per_test=self._continuations(),
            left_open=still_open,
        )

    def _also(self, still_open: int) -> Iterator[str]:
        """Yields the lines on the control and on the tests."""
        controls = self.control.controls
        tests = self.control.tests
        if controls:
            found = accepted(controls)
            low, high = clopper_pearson(found, len(controls))
            yield f"A/A: {found} of {len(controls)} accepted (95 % {low:.3f} to {high:.3f})"
        elif tests:
            yield "A/A: none, so false accepts are not measured"

        if self.false_share is not None:
            counted = f"{accepted(tests)} accepted of {len(tests)} tests"
            yield f"expected share of false discoveries {self.false_share:.2f} ({counted})"
        if self.control.weak:
            yield f"that is more than {MOST_FALSE:g}: all labels are weak"
        if tests:
            each = f"{self._continuations():.1f} continuations per test"
            yield f"{each}, shared ones counted in each"
        if self.flips:
            yield (
                f"{counted_noun(len(self.flips), 'flip')} of a deterministic policy, "
                f"{accepted(self.flips)} from failure to success"
            )

        if still_open:
            yield f"{counted_noun(still_open, 'trial')} with steps left to a rerun"

    def _continuations(self) -> float | None:
        """The mean over sequential tests with a verdict, both sides together."""
        looks = [
            2 * (given(label.stopped_at) or 0)
            for label in self.tested
            if given(label.accepted) is not None and not label.control and _ended(label).sequential
        ]
        return sum(looks) / len(looks) if looks else None


def _ended(label: StepLabel) -> EndedTest:
    """The outcome of a test, as `ErrorControl` counts it."""
    return EndedTest(label.accepted is True, label.control, label.method == SEQUENTIAL)
