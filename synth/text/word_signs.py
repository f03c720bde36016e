"""Signs of a sentence: kinds of words, and the words themselves; and the log odds that weights give
them which were fitted to wordings.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec

from synth.text.data_files import read
from synth.text.paraphrase.masking import stem


class SignWeights(msgspec.Struct, frozen=True):
    """A file of weights: log odds by sign, with every sentence's own, `base`."""

    base: float
    signs: Mapping[str, float]


def odds_by(place: str, seen: Iterable[str]) -> float:
    """How likely a sentence is, by these signs, what the weights in a file tell, in nats."""
    weights: SignWeights = read(place, SignWeights)
    return weights.base + sum((weights.signs.get(sign, 0.0) for sign in sorted(seen)), 0.0)


def kinds_by_word(words: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
    """Word -> its kinds, of words by kind."""
    found: dict[str, set[str]] = {}
    for kind, of in words.items():
        for word in of.split():
            found.setdefault(word, set()).add(kind)

    return {word: frozenset(kinds) for word, kinds in found.items()}


def worded(words: Sequence[str]) -> frozenset[str]:
    """The words themselves, by their stems, and those next to each other; nothing of empty ones."""
    stems = [stem(word) if len(word) > 4 else word for word in words]
    two = {f"b:{one} {other}" for one, other in pairwise(stems) if one and other}

    return frozenset({f"w:{one}" for one in stems if one} | two)
