"""Writes that the check has nothing against: what a blamed step is set beside."""

from collections.abc import Iterator

from synth.datasets.release import LABELLED_TURNS, Lineage, may_leave
from synth.ledger.decisions import with_decisions
from synth.ledger.ledger import StoredLedger
from synth.loss_turns import EVIDENCE
from synth.pairs.labels import LabelSettings
from synth.pairs.step_labels import StepRow, own_writes
from synth.pairs.turns import of_turn
from synth.schemas import Outcome, PrmLabel, Tier, Trajectory
from synth.set_aside import SetAside

PASSED = "passed_check"
"""The rule of such a step: the check that blames writes passed its trial."""


def kept_steps(ledger: StoredLedger, settings: LabelSettings) -> Iterator[StepRow]:
    """E2, true: the policy's own effectful calls that changed something, of trials that passed."""
    for trajectory, verdicts in with_decisions(ledger, SetAside()):
        passed = trajectory.check_result is not None and trajectory.outcome is Outcome.SUCCESS
        if not passed or trajectory.synthesizer in EVIDENCE:
            continue

        refusal = may_leave(Lineage(trajectory), verdicts, LABELLED_TURNS, settings)
        if refusal is None:
            yield from _writes(trajectory)


def _writes(trajectory: Trajectory) -> Iterator[StepRow]:
    """The labels of one trial; turns before its pivot another one took."""
    for turn in own_writes(trajectory):
        if turn.index >= (trajectory.pivot_turn or 0):
            told = of_turn(trajectory, turn.index)
            told |= {"tier": Tier.GOLD_RULE, "source": "check", "rule": PASSED, "label": True}
            yield StepRow(PrmLabel(**told), trajectory)
