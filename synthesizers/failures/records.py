"""The stage's rows: tests, the labels that stand on them once the A/A control of the whole stage is
counted, and a note of every attempt, which rounds, reruns and the report read.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from synth.engine.funnel import counted
from synth.engine.numbers import counted_noun
from synth.engine.study.method import method_report
from synth.engine.study.stage_context import StageContext, cost_line
from synth.engine.study.step_tests import SEQUENTIAL, EndedTest, ErrorControl
from synth.ledger.ledger import Score
from synth.ledger.typed import Read
from synth.schemas import UNSET, AttributionLabel, Status, given
from synth.synthesizers.failures.planning import WITH_MODE, mode_quotas_line, yields

INJECTION = "injection"
"""Metric of labels on an agent's mistakes: 1 confirmed, 0 weak, None replay_flip (only the recorded
rest was replayed).
"""
OBSERVATION_FAULT = "observation_fault"
"""Metric of labels on environment faults: the agent made no mistake, so its turn has no label."""
RECOVERY = "recovery"
REPAIR = "repair"
CONTROL = "injection_control"
TEST, REPAIR_TEST = "injection_test", "repair_test"
"""Metrics of tests as they ended, 1 accepted, 0 not; only the control of the whole stage tells how
far a label can be trusted.
"""
TESTS = (TEST, REPAIR_TEST, CONTROL)
OF_INJECTED_RUNS = (TEST, INJECTION, RECOVERY)
"""Metrics whose subject is a run of the stage's own, which the flow shows."""
UNTESTED: Mapping[str, Status] = {
    "replay_flip": "replay_flip",
    "recovered": "recovered",
}
"""Reasons of labels without a test."""
ATTEMPT = "injection_attempt"
"""Metric of the notes: 1 where the test accepted it, 0 where not, None where nothing was tried or a
rerun may still tell.
"""
ACCEPTED = "accepted"
"""The reason of an attempt that its test accepted; the control of the whole stage decides whether
its label is confirmed.
"""
Judged = Read[AttributionLabel]
"""A stored test or control: value 1 accepted, 0 not."""


class Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One attempt (`injection`, `repair`), a trial that cannot be replayed (`twin`), or a drawn
    strategy that is ruled out (`declined`).

    `reason`: the result of the test, else why there was none; `key` tells the notes of a task
    apart; `open`: a rerun may still tell.
    """

    kind: Literal["injection", "repair", "twin", "declined"]
    task_id: str
    key: str
    reason: str
    round: int
    strategy: str | None = None
    mode: str | None = None
    open: bool = False

    @property
    def tried(self) -> bool:
        """Whether the note is about an attempt."""
        return self.kind in ("injection", "repair")

    def as_score(self, subject_id: str) -> Score:
        """The row of the note."""
        value = None if self.open or not self.tried else float(self.reason == ACCEPTED)
        return Score(subject_id, ATTEMPT, value, None, self)


def settled(notes: Iterable[Note]) -> list[Note]:
    """The last note on each attempt: a rerun overrides an open one."""
    last: dict[tuple[str, str, str], Note] = {}
    for note in notes:
        key = (note.kind, note.task_id, note.key)
        if key not in last or last[key].open:
            last[key] = note
    return list(last.values())


def yields_of(notes: Iterable[Note]) -> dict[str, float]:
    """The yields of the modes, from notes of injections."""
    ended = [note for note in notes if note.kind == "injection" and not note.open and note.mode]
    verified = Counter(str(note.mode) for note in ended if note.reason == ACCEPTED)
    return yields(Counter(str(note.mode) for note in ended), verified)


def ended(test: Judged) -> EndedTest:
    """The outcome of a test or a control, as `ErrorControl` counts it."""
    sequential = given(test.about.method) == SEQUENTIAL
    # injections at one turn of a clean run share the continuations of what was done there
    state = (given(test.about.clean_twin_id) or test.subject_id, test.turn)
    return EndedTest(test.value == 1, test.metric == CONTROL, sequential, state)


def labels(tests: Sequence[Judged]) -> list[Score]:
    """The labels that follow from all tests and controls of a stage: 1 confirmed, 0 weak."""
    control = ErrorControl(map(ended, tests))
    found = []

    for test in tests:
        if test.metric != CONTROL:
            confirmed = control.status(ended(test)) == "confirmed"
            status: Status = "confirmed" if confirmed else "weak"
            fdr = control.false_share
            label = replace(test.about, status=status, fdr=fdr, label=UNSET)
            metric = str(given(test.about.label))
            found.append(Score(test.subject_id, metric, float(confirmed), test.turn, label))

    return found


def injection_report(
    stage: StageContext, target: Mapping[str, float], without: int
) -> Mapping[str, Any]:
    """Attempts, confirmed labels, reasons of the others, target and achieved mix of the modes, the
    control, the cost; `without` tasks have no clean trial.
    """

    notes = settled(row.about for row in stage.rows(Note, ATTEMPT))
    tests = stage.rows(AttributionLabel, *TESTS)
    control = ErrorControl(map(ended, tests))
    held = [test for test in tests if test.value == 1 and test.metric != CONTROL]
    confirmed = [test for test in held if control.status(ended(test)) == "confirmed"]
    modes, strategies = _mix(confirmed)
    methods = Counter(str(given(test.about.method)) for test in held)

    reasons = Counter(note.reason for note in notes if note.tried)
    tried = reasons.total()
    del reasons[ACCEPTED]
    reasons["weak_by_control"] = len(held) - len(confirmed)
    cost = stage.cost()
    also = [
        *_counts({"confirmed by": strategies, "tested by": methods}),
        *([mode_quotas_line(target, modes)] if modes else []),
        *control.lines(),
        *_lines(notes),
        cost_line(cost, cost["episodes"], "episode"),
    ]
    also += [f"{counted_noun(without, 'task')} without a clean trial"] if without else []
    found = {"modes": modes, "target": target, "by_strategy": strategies, "methods": methods}

    return method_report(
        "attempts",
        tried,
        len(confirmed),
        reasons,
        also=also,
        **{name: dict(counts) for name, counts in found.items()},
        false_share=control.false_share,
        cost=cost,
    )


def _mix(confirmed: Sequence[Judged]) -> tuple[Counter[str], Counter[str]]:
    """Counts the confirmed injections by mode, and all confirmed labels by strategy."""
    of_runs = [test.about for test in confirmed if test.metric == TEST]
    modes = Counter(str(label.mode) for label in of_runs if label.strategy in WITH_MODE)
    names = {REPAIR_TEST: "repair"}
    strategies = Counter(names.get(test.metric, str(test.about.strategy)) for test in confirmed)

    return modes, strategies


def _counts(found: Mapping[str, Counter[str]]) -> Iterator[str]:
    """Yields a line for each of these counts that is not empty."""
    yield from (f"{what}: {counted(counts)}" for what, counts in found.items() if counts)


def _lines(notes: Sequence[Note]) -> Iterator[str]:
    """Yields lines on trials and strategies that were left out, and on open attempts."""
    kinds = {"cannot be built on": "twin", "drawn and ruled out": "declined"}
    yield from _counts(
        {
            what: Counter(note.reason for note in notes if note.kind == kind)
            for what, kind in kinds.items()
        }
    )

    left = sum(note.open for note in notes)

    if left:
        yield f"{counted_noun(left, 'attempt')} left to a rerun"
