"""How far two texts say the same: their words or their clauses, set against each other."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import log, sqrt

import numpy as np
import numpy.typing as npt

from synth.text.paraphrase.masking import masked, stems

Score = Callable[[str, str], float]
"""Two texts -> 0 (nothing in common) to 1."""
RARITY = 1.5
"""Exponent of a word's weight. Of 1, 1.5 and 2, 1.5 told paraphrases best from unrelated tasks."""
_BEGINNING, _ALIKE = 4, 0.8
"""Letters in which two stems begin alike (cancel, cancell), and what such a pair counts."""
_CLAUSE = re.compile(r"(?<=[.!?;])\s+|\n+|, (?:and|but|or|if|so|then|because|while) ")
_LEAST = 12
"""Characters of a clause that says something."""


def weights(documents: Sequence[str]) -> Mapping[str, float]:
    """Stem -> log((documents + 1) / (documents with it + 1)) + .1, to the power `RARITY`; the empty
    stem stands for all that no document has.
    """
    found: Counter[str] = Counter()
    count = len(documents)
    for text in documents:
        found.update(set(stems(text)))

    # a word that no document has tells no more than the rarest that one has
    rarest = log((count + 1) / 2) + 0.1
    known = {word: (log((count + 1) / (n + 1)) + 0.1) ** RARITY for word, n in found.items()}

    return {**known, "": rarest**RARITY}


def by_words(known: Mapping[str, float]) -> Score:
    """The geometric mean of both coverages: the weight of one text's stems that the other has too.

    Entities are masked, order does not count; stems that begin alike count .8.
    """

    @lru_cache(maxsize=65536)
    def weighed(text: str) -> Mapping[str, float]:
        return {word: known.get(word, known[""]) for word in stems(text)}

    def covered(one: Mapping[str, float], other: Mapping[str, float]) -> float:
        begun = {word[:_BEGINNING] for word in other if len(word) >= _BEGINNING}
        shared = sum(
            weight * (1.0 if word in other else _ALIKE if word[:_BEGINNING] in begun else 0.0)
            for word, weight in one.items()
        )
        total = sum(one.values())
        return shared / total if total else 0.0

    def score(one: str, other: str) -> float:
        first, second = weighed(one), weighed(other)
        return sqrt(covered(first, second) * covered(second, first))

    return score


def clauses(text: str) -> list[str]:
    """The clauses of a masked text; all of it where it has none."""
    parts = [part.strip() for part in _CLAUSE.split(masked(text))]
    return [part for part in parts if len(part) >= _LEAST] or [masked(text)]


def by_clauses(embed: Callable[[Sequence[str]], npt.NDArray[np.float32]]) -> Score:
    """The same over clauses by their embeddings of unit length: the mean over each text's clauses
    of the best cosine with one of the other's.
    """

    @lru_cache(maxsize=65536)
    def vectors(text: str) -> npt.NDArray[np.float32]:
        return embed(clauses(text))

    def score(one: str, other: str) -> float:
        cosines = np.clip(vectors(one) @ vectors(other).T, 0, 1)
        return float(np.sqrt(cosines.max(axis=1).mean() * cosines.max(axis=0).mean()))

    return score
