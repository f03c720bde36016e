"""What signals are looked for by: phrases of people, expressions in answers (`signals.yaml`).

The file is read once, when the filter is first used.
"""

from collections.abc import Mapping

import msgspec

from synth.text.data_files import read


class AnswerKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Expressions and the confidence of a match; `weak` is the confidence where none of the `words`
    stands in the answer.
    """

    confidence: float
    patterns: tuple[str, ...]
    weak: float | None = None
    words: tuple[str, ...] = ()


class Lists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file, as it is written.

    `phrases`: kind -> phrases; `reach`, `whom`: what phrases of escalation are made of; openings:
    how a message begins that agrees, or confirms; `kinds`: category -> its kinds.
    """

    phrases: Mapping[str, tuple[str, ...]]
    reach: tuple[str, ...]
    whom: tuple[str, ...]
    positive_openings: tuple[str, ...]
    confirming_openings: tuple[str, ...]
    stop_words: str
    failures: Mapping[str, AnswerKind]
    exhaustion: Mapping[str, AnswerKind]
    kinds: Mapping[str, tuple[str, ...]]


LISTS = read("filters/signals/signals.yaml", Lists)

# "talk to a manager" and all its kin would fill the file
PHRASES = dict(LISTS.phrases)
PHRASES["escalation"] = (
    *(f"{reach} {whom}" for whom in LISTS.whom for reach in LISTS.reach),
    *PHRASES["escalation"],
)
STOP_WORDS = frozenset(LISTS.stop_words.split())
ANSWERS = {"failure": LISTS.failures, "exhaustion": LISTS.exhaustion}

KINDS = {category: kinds or tuple(ANSWERS[category]) for category, kinds in LISTS.kinds.items()}
"""Category -> the kinds of it; of a message or an answer the first that fits is told."""
