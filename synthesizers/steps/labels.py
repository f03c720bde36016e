"""What a stage of step tests writes: a row per test, Monte-Carlo values of acts, labels once the
A/A control is counted, a report.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synth.engine.numbers import counted_noun
from synth.ledger.ledger import Score
from synth.ledger.typed import Read
from synth.schemas.canonical import canonical_json
from synth.schemas.labels import UNSET, Status, StepLabel, StepValue, given
from synth.schemas.policy import PolicySpec
from synth.stats.intervals import clopper_pearson
from synth.stats.sequential import MOST_FALSE, expected_false_share
from synth.synthesizers.step_effect import Effect
from synth.synthesizers.steps.alternatives import Alternative, DecisionState
from synth.text.transcript.acts import act_digest

TEST, LABEL, VALUE = "step_test", "critical_step", "step_value"
"""Metrics: a test as it ended; the label that stands on it; successes of an act's continuations."""


class StepTest(msgspec.Struct, frozen=True):
    """One test at a state: an alternative against the own act, or, as a control, the own act
    against itself.
    """

    alternative: Alternative | None
    effect: Effect

    @property
    def control(self) -> bool:
        return self.alternative is None


Recorded = Read[StepLabel]
"""A test row as the ledger holds it."""


def on_policy_for(policy: PolicySpec) -> str:
    """Whom a label holds for: the model, or what identifies a policy that has none."""
    return policy.model or canonical_json(policy.identity).decode()


def rows_of(
    state: DecisionState,
    rule: str,
    tests: Sequence[StepTest],
    untested: str | None,
    policy: PolicySpec,
) -> list[Score]:
    """The rows of one state; `untested` says why nothing was tested there."""
    about: dict[str, Any] = {
        "proposed_by": rule,
        "own": act_digest(state.own),
        "on_policy_for": on_policy_for(policy),
    }
    subject = state.parent.trajectory_id
    rows = [
        Score(subject, TEST, test.effect.difference, state.turn, _label(test, about))
        for test in tests
    ]
    if untested is not None:
        rows.append(Score(subject, TEST, None, state.turn, StepLabel(**about, untested=untested)))
    return rows + [
        Score(
            subject,
            VALUE,
            sum(solved) / len(solved),
            state.turn,
            StepValue(**about, act=act, successes=sum(solved), n=len(solved)),
        )
        for act, solved in _values(state, tests)
    ]


def untestable(trajectory_id: str, reason: str) -> Score:
    """The row of a trial of which no step can be tested."""
    return Score(trajectory_id, TEST, None, None, StepLabel(untested=reason))


def _label(test: StepTest, about: Mapping[str, Any]) -> StepLabel:
    effect, other = test.effect, test.alternative
    return StepLabel(
        **about,
        control=test.control,
        accepted=effect.accepted,
        **effect.evidence(),
        reason=effect.reason,
        alternative=UNSET if other is None else other.turn,
        alternative_digest=UNSET if other is None else act_digest(other.turn),
        alternative_from=UNSET if other is None else other.source,
        alternative_authorship=UNSET if other is None else other.authorship.value,
    )


def _values(state: DecisionState, tests: Sequence[StepTest]) -> list[tuple[str, list[bool]]]:
    """The acts that were continued, with what each continuation came to, each counted once, the
    recorded trajectory never.
    """
    counted: dict[str, dict[str, bool]] = {}
    for test in (test for test in tests if test.effect.accepted is not None):
        ours = state.own if test.alternative is None else test.alternative.turn
        for act, ids, solved in (
            (ours, test.effect.good_ids, test.effect.good_solved),
            (state.own, test.effect.bad_ids, test.effect.bad_solved),
        ):
            counted.setdefault(act_digest(act), {}).update(zip(ids, solved, strict=True))
    return [(act, list(found.values())) for act, found in counted.items() if found]


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
