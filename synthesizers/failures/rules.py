"""The rule of each single-agent mode."""

from collections.abc import Mapping

from synth.synthesizers.failures.checking import no_look, no_question, wrong_look
from synth.synthesizers.failures.ending import too_early, too_late
from synth.synthesizers.failures.mistake import Rule
from synth.synthesizers.failures.repeating import forgetting, repetition, reset
from synth.synthesizers.failures.wrong_value import derailment, disobedience, mismatch

RULES: Mapping[str, Rule] = {
    "FM-1.1": disobedience,
    "FM-1.3": repetition,
    "FM-1.4": forgetting,
    "FM-1.5": too_late,
    "FM-2.1": reset,
    "FM-2.2": no_question,
    "FM-2.3": derailment,
    "FM-2.6": mismatch,
    "FM-3.1": too_early,
    "FM-3.2": no_look,
    "FM-3.3": wrong_look,
}
