"""Preference pairs, single labelled turns and step values, read from the tests and checks that a
ledger holds.
"""

from synth.pairs.kto import kto_labels
from synth.pairs.labels import (
    KtoReport,
    LabelSettings,
    PairReport,
    PairRow,
    PairSettings,
    StepReport,
)
from synth.pairs.preference import preference_pairs
from synth.pairs.step_labels import step_labels
from synth.pairs.step_pairs import paired_steps

__all__ = [
    "KtoReport",
    "LabelSettings",
    "PairReport",
    "PairRow",
    "PairSettings",
    "StepReport",
    "kto_labels",
    "paired_steps",
    "preference_pairs",
    "step_labels",
]
