"""What the stage writes down of its attempts: tests and labels, what the A/A control says of them,
and a note of every attempt, labelled or not, which rounds, reruns and the report go by.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from synth.ledger.ledger import Ledger, Score
from synth.ledger.typed import Read, committed
from synth.schemas.labels import UNSET, AttributionLabel, Changed, Status, given
from synth.schemas.trajectory import Turn
from synth.stats.sequential import MOST_FALSE, expected_false_share
from synth.synthesizers.failures.planning import InjectionPlan, yields

INJECTION = "injection"
"""Metric of labels on mistakes of the agent: 1 confirmed, 0 weak, None replay_flip (which says only
that the recorded rest works).
"""
OBSERVATION_FAULT = "observation_fault"
"""The same for faults of the world, apart: they are no mistake of the agent, and no label on its
turn.
"""
RECOVERY = "recovery"
REPAIR = "repair"
CONTROL = "injection_control"
TEST, REPAIR_TEST = "injection_test", "repair_test"
"""Metrics of tests as they ended, 1 accepted, 0 not: what a label is worth is known once the
control of the whole stage is.
"""
OF_INJECTED_RUNS = frozenset({TEST, INJECTION, RECOVERY})
"""Whose subject is a run of the stage's own, which the flow is to see."""

UNTESTED: Mapping[str, Status] = {"replay_flip": "replay_flip", "recovered": "recovered"}
"""Reasons of labels that stand on no test."""


def executed(twin: Turn, injected: Turn) -> Changed:
    """State key and what the agent was shown, beside the twin's; a user's wording and call ids
    aside.
    """
    state = (
        twin.state_key is not None
        and injected.state_key is not None
        and twin.state_key != injected.state_key
    )
    return Changed(state, _shown(twin) != _shown(injected))


def _shown(turn: Turn) -> object:
    return [
        (o.content if o.planted is not None else o.as_given().content, o.source, o.error)
        for o in turn.observations
    ]


Judged = Read[AttributionLabel]
"""A test or a control, as it ended: value 1 accepted, 0 not."""


def judged_in(ledger: Ledger, stage_key: str) -> list[Judged]:
    """Those that a stage has committed."""
    return list(committed(ledger, stage_key, AttributionLabel, (TEST, REPAIR_TEST, CONTROL)))


def accepted(tested: Sequence[Judged], *, control: bool = False) -> list[Judged]:
    """The tests that were accepted, or the controls."""
    return [one for one in tested if one.value == 1 and (one.metric == CONTROL) == control]


def false_share(tested: Sequence[Judged]) -> float | None:
    """The share of the accepted sequential tests that is expected to be false; None where no
    control was played.
    """
    sequential = [found for found in tested if found.about.method == "sequential"]
    controls = sum(found.metric == CONTROL for found in sequential)
    return expected_false_share(
        len(accepted(sequential, control=True)),
        controls,
        len(sequential) - controls,
        len(accepted(sequential)),
    )


def status(test: Judged, share: float | None) -> Status:
    """What a label made of a test is worth, under that share of false ones."""
    false = share is not None and share > MOST_FALSE and test.about.method == "sequential"
    return "weak" if test.value != 1 or false else "confirmed"


def labels(tested: Sequence[Judged]) -> list[Score]:
    """The labels that follow from all tests and controls of a stage: 1 confirmed, 0 weak."""
    share, found = false_share(tested), []
    for test in (test for test in tested if test.metric != CONTROL):
        worth = status(test, share)
        label = msgspec.structs.replace(test.about, status=worth, fdr=share, label=UNSET)
        metric = str(given(test.about.label))
        found.append(Score(test.subject_id, metric, float(worth == "confirmed"), test.turn, label))
    return found


ATTEMPT = "injection_attempt"
"""Metric of the notes; 1 where the test accepted it, 0 where not, None where nothing was tried or a
rerun may still tell.
"""
ACCEPTED = "accepted"
"""The reason of an attempt that its test accepted; whether its label is confirmed, the control of
the whole stage says.
"""
Kind = Literal["injection", "repair", "twin", "declined"]


class Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One attempt (`injection`, `repair`), a trial that cannot be built on (`twin`), or a drawn
    strategy that is ruled out (`declined`).

    `reason`: what the test said, else why there was none; `key` tells the notes of a task apart;
    `open`: a rerun may still tell.
    """

    kind: Kind
    task_id: str
    key: str
    reason: str
    round: int
    strategy: str | None = None
    mode: str | None = None
    open: bool = False

    @classmethod
    def of_attempt(cls, planned: InjectionPlan, reason: str, round: int, *, again: bool) -> "Note":
        """Of an injection."""
        return cls(
            "injection",
            planned.task_id,
            str(planned.ordinal),
            reason,
            round,
            planned.strategy,
            planned.mode,
            again,
        )

    @property
    def tried(self) -> bool:
        return self.kind in ("injection", "repair")

    def as_score(self, subject_id: str) -> Score:
        """As it is stored."""
        value = None if self.open or not self.tried else float(self.reason == ACCEPTED)
        return Score(subject_id, ATTEMPT, value, None, self)


def noted(ledger: Ledger, stage_key: str) -> list[Note]:
    """All notes under a stage's key, in the order of their commits."""
    return [row.about for row in committed(ledger, stage_key, Note, (ATTEMPT,))]


def made_elsewhere(ledger: Ledger, stage_key: str, metrics: Collection[str]) -> tuple[str, ...]:
    """Injected runs that the stage has labelled, and that were played under other settings of
    it.
    """
    labelled = committed(ledger, stage_key, AttributionLabel, metrics)
    subjects = {row.subject_id for row in labelled}
    return tuple(sorted(subjects - ledger.state.trajectories_of(stage_key)))


def settled(notes: Iterable[Note]) -> list[Note]:
    """The last word on each: what a rerun has told stands for what was left open."""
    last: dict[tuple[str, str, str], Note] = {}
    for note in notes:
        key = (note.kind, note.task_id, note.key)
        if key not in last or last[key].open:
            last[key] = note
    return list(last.values())


def yields_of(notes: Iterable[Note]) -> dict[str, float]:
    """Share of the attempts of each mode that were accepted."""
    attempted: Counter[str] = Counter()
    verified: Counter[str] = Counter()
    for note in notes:
        if note.kind == "injection" and not note.open and note.mode is not None:
            attempted[note.mode] += 1
            verified[note.mode] += note.reason == ACCEPTED
    return yields(attempted, verified)
