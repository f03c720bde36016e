"""What signals are looked for by: phrases of people, expressions in answers (`signals.yaml`)."""

from collections.abc import Mapping
from importlib.resources import files

import msgspec


class PatternKind(msgspec.Struct, frozen=True):
    """Expressions and the confidence of a match."""

    confidence: float
    patterns: tuple[str, ...]


class Lists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file, as it is written."""

    phrases: Mapping[str, tuple[str, ...]]
    reach: tuple[str, ...]
    whom: tuple[str, ...]
    positive_openings: tuple[str, ...]
    confirming_openings: tuple[str, ...]
    stop_words: str
    failures: Mapping[str, PatternKind]
    exhaustion: Mapping[str, PatternKind]


LISTS = msgspec.yaml.decode(
    (files("synth.filters.signals") / "signals.yaml").read_bytes(), type=Lists
)
PHRASES = {
    **LISTS.phrases,
    "escalation": (
        *(f"{reach} {whom}" for whom in LISTS.whom for reach in LISTS.reach),
        *LISTS.phrases["escalation"],
    ),
}
STOP_WORDS = frozenset(LISTS.stop_words.split())
ANSWERS = {"failure": LISTS.failures, "exhaustion": LISTS.exhaustion}
BAD_QUERY_WEAK = 0.6
"""Of a bad query whose answer says neither error nor invalid nor failed."""
