"""Enumerated arguments, a heuristic: did a person or an answer say which of the permitted values it
should be?
"""

import re
from collections.abc import Sequence

from synth.text.provenance.choices.choosing import Chosen

_WORD = re.compile(r"[a-z]+")
_SAID = re.compile(r"(?<![\w.@])[a-z]+(?![\w@]|\.\w)")
_INDIFFERENT = re.compile(
    r"don't (?:know|care|mind)|no preference|doesn't matter|up to you|whatever", re.IGNORECASE
)
_SHORTEST = 4
"""Shorter words (yes, no, too, by) tell nothing."""


def wished(
    argument: str,
    value: str,
    permitted: Sequence[object],
    answers: Sequence[tuple[str, str]],
    known_words: str,
) -> Chosen | None:
    """Singled out is a value with at least half of its words in what persons said, words being the
    same if they begin alike.

    So is any value where a person who was asked for the argument did not know or mind. `answers`
    are pairs of what the agent said (or
    nothing) and what a person said then. Words of the tool's and its arguments' names
    (`known_words`) do not count: everyone says
    "order". None for enumerations of fewer than three values, and for values without a word that
    counts.
    """
    words = [
        word[: max(_SHORTEST, len(word) - 2)]
        for word in _WORD.findall(value.casefold())
        if len(word) >= _SHORTEST
    ]
    telling = [word for word in words if word not in known_words]
    if len(permitted) < 3 or not telling:
        return None

    if any(argument in question and _INDIFFERENT.search(answer) for question, answer in answers):
        return len(permitted), 1, "nobody minds"

    said = {word for _, answer in answers for word in _SAID.findall(answer.casefold())}
    matched = sum(any(word.startswith(beginning) for word in said) for beginning in telling)
    if 2 * matched >= len(telling):
        return len(permitted), 1, "its words were said"

    return len(permitted), len(permitted), "nobody said which value"
