"""What the stage says at its end: attempts, confirmed labels, why the rest gave none, target and
achieved mix, controls, cost.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.engine.funnel import counted
from synth.engine.numbers import counted_noun
from synth.engine.study.method import method_report
from synth.engine.study.shard import StageContext, cost_line
from synth.engine.study.step_tests import ErrorControl, accepted
from synth.schemas.labels import AttributionLabel, given
from synth.stats.sequential import MOST_FALSE
from synth.synthesizers.failures.planning import WITH_MODE, mix_line
from synth.synthesizers.failures.records import (
    ACCEPTED,
    ATTEMPT,
    REPAIR_TEST,
    TEST,
    TESTS,
    Note,
    ended,
    settled,
)


def injection_report(
    stage: StageContext, target: Mapping[str, float], without: int
) -> Mapping[str, Any]:
    """Attempts, confirmed labels, why the rest gave none, target and achieved mix of the
    `modes`, the control, what it has cost; `without` tasks have no clean trial.
    """
    notes = settled(row.about for row in stage.rows(Note, ATTEMPT))
    tests = stage.rows(AttributionLabel, *TESTS)
    control = ErrorControl(map(ended, tests))
    held = [test for test in tests if test.value == 1 and not ended(test).control]
    confirmed = [test for test in held if control.status(ended(test)) == "confirmed"]
    tried = [note for note in notes if note.tried]
    reasons = Counter(note.reason for note in tried)
    del reasons[ACCEPTED]
    reasons["weak_by_control"] = len(held) - len(confirmed)
    modes = Counter(
        str(test.about.mode)
        for test in confirmed
        if test.about.strategy in WITH_MODE and test.metric == TEST
    )
    strategies = Counter(
        "repair" if test.metric == REPAIR_TEST else str(test.about.strategy) for test in confirmed
    )
    methods = Counter(str(given(test.about.method)) for test in held)
    cost = stage.cost()
    mixed = {"confirmed by": strategies, "tested by": methods}
    also = [f"{what}: {counted(counts)}" for what, counts in mixed.items() if counts]
    also += [mix_line(target, modes)] if modes else []
    also += [*_control_line(control), *_lines(notes)]
    also.append(cost_line(cost, cost["episodes"], "episode"))
    also += [f"{counted_noun(without, 'task')} without a clean trial"] if without else []
    return method_report(
        "attempts",
        len(tried),
        len(confirmed),
        reasons,
        also=also,
        modes=dict(modes),
        target=dict(target),
        by_strategy=dict(strategies),
        methods=dict(methods),
        false_share=control.false_share,
        cost=cost,
    )


def _control_line(control: ErrorControl) -> Iterator[str]:
    share, controls = control.false_share, control.controls
    if controls:
        words = f"A/A control: {accepted(controls)} of {len(controls)} accepted"
        if share is not None:
            words += f", {share:.2f} of the sequential labels expected false"
        weak = f"; more than {MOST_FALSE:g}, so all of them are weak" if control.weak else ""
        yield words + weak


def _lines(notes: Sequence[Note]) -> Iterator[str]:
    for kind, what in (("twin", "cannot be built on"), ("declined", "drawn and ruled out")):
        reasons = Counter(note.reason for note in notes if note.kind == kind)
        if reasons:
            yield f"{what}: {counted(reasons)}"
    left = sum(note.open for note in notes)
    if left:
        yield f"{counted_noun(left, 'attempt')} left to a rerun"
