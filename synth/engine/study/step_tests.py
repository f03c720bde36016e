"""Concludes the tests of a stage once all of them are counted: how many may be false, labels, a
report.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synth.engine.numbers import counted_noun
from synth.engine.study.method import method_report
from synth.ledger import Score
from synth.ledger.typed import Read
from synth.schemas import Status, StepLabel, given
from synth.stats.discoveries import (
    MOST_CHANCE,
    MOST_FALSE,
    Discoveries,
    StateTests,
    discoveries,
)
from synth.stats.intervals import clopper_pearson

TEST, LABEL, VALUE = "step_test", "critical_step", "step_value"
"""Metrics: a test as it ended; the label that stands on it; successes of an act's continuations."""
SEQUENTIAL = "sequential"

StoredTest = Read[StepLabel]
"""A test row of the ledger."""


class EndedTest(msgspec.Struct, frozen=True):
    """A test that came to a verdict; a `control` compares an act with itself. Tests at one `state`
    share continuations.
    """

    accepted: bool
    control: bool
    sequential: bool
    state: Hashable


class ErrorControl:
    """Counts the tests that came to a verdict, by state, beside their A/A control, and judges what
    was accepted (`synth.stats.discoveries`).
    """

    def __init__(self, tests: Iterable[EndedTest]) -> None:
        ended = list(tests)
        self.controls = [test for test in ended if test.control]
        self.tests = [test for test in ended if test.sequential and not test.control]
        self.found = _found(self.tests, self.controls)

    @property
    def false_share(self) -> float | None:
        """The expected share of false ones among the accepted is at most that; None where nothing
        was accepted.
        """
        return self.found.false_share

    @property
    def weak(self) -> bool:
        """Whether what the sequential test accepted is not confirmed."""
        return self.found.weak

    def status(self, test: EndedTest) -> Status:
        """The worth of a label that stands on a test."""
        if test.control:
            return "control"
        if not test.accepted:
            return "rejected"
        return "weak" if self.weak and test.sequential else "confirmed"

    def lines(self) -> Iterator[str]:
        """Yields what the tests and their control say, in words."""
        found, controls = self.found, self.controls
        if controls:
            low, high = clopper_pearson(accepted(controls), len(controls))
            yield (
                f"A/A: {accepted(controls)} of {len(controls)} accepted (95 % {low:.3f} to "
                f"{high:.3f})"
            )
        elif self.tests:
            yield "A/A: none, so no alarm could be raised"

        if found.alarm:
            yield f"chance of so many {found.control_chance:.2g}: all labels are weak"
        if found.false_share is not None:
            counted = f"{found.accepted} accepted of {found.tests} tests"
            yield f"at most {found.false_share:.2f} of them expected to be false ({counted})"
            yield (
                f"chance of {found.accepted_states} of {found.states} states by luck "
                f"{found.chance:.2g}"
            )
        if found.accepted and found.weak and not found.alarm:
            yield (
                f"more than {MOST_FALSE:g} false, or a chance above {MOST_CHANCE:g}: all labels "
                "are weak"
            )


def _found(tests: Sequence[EndedTest], controls: Sequence[EndedTest]) -> Discoveries:
    """Judges tests state by state."""
    by_state = defaultdict[Hashable, list[EndedTest]](list)
    for test in tests:
        by_state[test.state].append(test)

    states = [StateTests(len(at), accepted(at)) for at in by_state.values()]
    return discoveries(states, accepted(controls), len(controls))


def accepted(tests: Iterable[EndedTest]) -> int:
    """The number of accepted tests."""
    return sum(test.accepted for test in tests)


class TestSummary:
    """Counts the test rows of a stage."""

    def __init__(self, recorded: Sequence[StoredTest]) -> None:
        labels = [row.about for row in recorded]
        self.untested = [one for one in labels if given(one.untested) is not None]
        self.tested = [one for one in labels if given(one.untested) is None]
        ended = [
            _ended(row.about, (row.subject_id, row.turn))
            for row in recorded
            if given(row.about.untested) is None and given(row.about.accepted) is not None
        ]
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
            chance_by_luck=self.control.found.chance,
            weak=self.control.weak,
            continuations_per_test=self._continuations(),
            left_open=still_open,
        )

    def _also(self, still_open: int) -> Iterator[str]:
        """Yields the lines on the control and on the tests."""
        yield from self.control.lines()
        if self.control.tests:
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


def _ended(label: StepLabel, state: Hashable = None) -> EndedTest:
    """The outcome of a test, as `ErrorControl` counts it."""
    return EndedTest(label.accepted is True, label.control, label.method == SEQUENTIAL, state)
