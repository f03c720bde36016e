"""Preference pairs, single labelled turns and step values, read from the tests and checks that a
ledger holds.
"""

from synth.pairs.kto import kto_labels
from synth.pairs.preference import preference_pairs
from synth.pairs.report import KtoReport, PairReport, StepReport
from synth.pairs.rows import KtoRow, PairRow, StepRow
from synth.pairs.settings import LabelSettings, PairSettings
from synth.pairs.step_labels import step_labels

__all__ = [
    "KtoReport",
    "KtoRow",
    "LabelSettings",
    "PairReport",
    "PairRow",
    "PairSettings",
    "StepReport",
    "StepRow",
    "kto_labels",
    "preference_pairs",
    "step_labels",
]
