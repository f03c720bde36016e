"""What a sentence claims: not what it denies, supposes or holds possible; and sums, that tell their
result with what it comes from.
"""

import re

from synth.envs.storefront.customer.told import SAID, STATUSES
from synth.schemas.check import Scalar

_CLAUSE = re.compile(
    r"[,;:()]|\b(?:but|so|because|that|although|though)\b"
    r"|\band (?=(?:is|was|has|will|it|its|the|order|your|this|arriv)\b)"
)
_SUPPOSED = re.compile(
    r"\b(?:if|once|when|whenever|until|till|unless|before|after|whether|as soon as|in "
    r"case|provided)\b"
)
_DENIED = re.compile(
    r"(?:\b(?:not|never|no longer|cannot|nor|neither|without|yet to be)\b|n't\b)(?: \w+){0,4} *$"
)
_POSSIBLE = re.compile(
    r"\b(?:can|could|may|might|would|should|must|shall|will)(?: \w+){0,2} "
    r"(?:be|have|get|show|become)\b(?: \w+){0,3} *$"
    r"|\b(?:perhaps|maybe|possibly|probably|either)\b(?: \w+){0,4} *$"
)
_ADDS_UP = re.compile(
    r"\b(?:minus|less|plus|equals?|makes?|off|save[sd]?|savings?|discount\w*|reduc\w*|deduct\w*"
    r"|down|difference|total|paid|instead of)\b|[+=\u2212]"
)
_CHOICE = re.compile(r"\b(?:or|either|may|might|maybe|perhaps|possibly|between)\b")
_MOST_TERMS = 4
_NEAR = 80
"""Letters before a status in which it is denied or held possible."""


def claimed(kind: str, sentence: str) -> set[Scalar]:
    """The values of a type that a sentence claims; every value but a status is claimed where it is
    said.
    """
    if kind not in ("status", "enum"):
        return SAID[kind](sentence)
    return {
        status
        for clause in _CLAUSE.split(sentence.lower())
        for status, words in STATUSES.items()
        if _claims(clause, words)
    }


def _claims(clause: str, words: re.Pattern[str]) -> bool:
    supposed = _SUPPOSED.search(clause)
    end = len(clause) if supposed is None else supposed.start()
    starts = (found.start() for found in words.finditer(clause, 0, end))
    return any(
        not any(pattern.search(clause, max(0, at - _NEAR), at) for pattern in (_DENIED, _POSSIBLE))
        for at in starts
    )


def is_sum(kind: str, sentence: str) -> bool:
    """Whether the amounts of a sentence are one sum: $48.25 minus $7.25 is $41.00."""
    cents = (
        [value for value in SAID[kind](sentence) if isinstance(value, int)]
        if kind == "money"
        else []
    )
    lowered = sentence.lower()
    adds_up = 2 < len(cents) <= _MOST_TERMS and 2 * max(cents) == sum(cents)
    return adds_up and _ADDS_UP.search(lowered) is not None and _CHOICE.search(lowered) is None
