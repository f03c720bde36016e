"""Documents by what they say: which of them a text repeats in other words, or of other entities.

An encoder proposes, an alignment decides, and pairs of documents that have nothing to do with each
other say where chance ends. A text in another language is out of reach.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from random import Random
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from synth.text.paraphrase.alignment import Score, by_clauses, by_words, weights
from synth.text.paraphrase.masking import stems
from synth.text.word_runs import Run, runs, words_in

Embed = Callable[[Sequence[str]], npt.NDArray[np.float32]]
PROPOSED = 5
"""Documents that are aligned with a text."""
LEAST_STEMS, MOST_STEMS = 8, 400
"""Distinct ones of a text that says enough to be told from others, and is no handbook."""
MARGIN = 1.2
"""How much nearer the nearest document must be than the next that is not its own variant: a text of
the same domain alone is about as near to several.
"""
FEWEST_PAIRS = 300
"""Of unrelated documents, for a quantile of 1 %."""
MOST_PAIRS = 20_000
FLOORS = {"words": 0.29, "sentences": 0.62}
"""The 99th percentile over unrelated pairs of tasks of one domain, the highest of four sets
(benchmarks/gates/contamination.py); a threshold is never lower.
"""
_RUN = 8
"""Words in a row that only variants of one text share."""


class Nearest(msgspec.Struct, frozen=True):
    """The document that a text repeats, whose it is, and how far they say the same."""

    benchmark: str
    score: float


class Paraphrases:
    """Documents of benchmarks. `unrelated`: share of unrelated pairs that may reach the threshold.

    With `embed`, clauses are compared by their embeddings, else stems by their rarity.
    """

    def __init__(
        self, documents: Sequence[tuple[str, str]], *, unrelated: float, embed: Embed | None = None
    ) -> None:
        telling = dict.fromkeys(one for one in documents if _tells(one[1]))
        self._names = [name for name, _ in telling]
        self._texts = [text for _, text in telling]
        self._weights = weights(self._texts)
        self._words = {word: at for at, word in enumerate(self._weights)}
        self._embed = embed
        self.score: Score = by_words(self._weights) if embed is None else by_clauses(embed)
        self._unrelated = unrelated

    def __len__(self) -> int:
        return len(self._texts)

    @cached_property
    def threshold(self) -> float:
        """The quantile over pairs of documents that share no run of 8 words; of fewer than 300
        pairs the floor.
        """
        floor = FLOORS["words" if self._embed is None else "sentences"]
        count, rng = len(self), Random(0)
        places = range(count * (count - 1) // 2)
        drawn = places if len(places) <= MOST_PAIRS else rng.sample(places, MOST_PAIRS)
        pairs = (_pair(place) for place in drawn)
        texts = ((self._texts[a], self._texts[b]) for a, b in pairs)
        scores = [self.score(*two) for two in texts if apart(*two)]
        if len(scores) < FEWEST_PAIRS:
            return floor

        return max(floor, float(np.quantile(scores, 1 - self._unrelated)))

    def nearest(self, text: str) -> Nearest | None:
        """The document that a text says again, None where it says none of them."""
        if not self._texts or not _tells(text):
            return None

        cosines = np.asarray(self._vectors @ self._vector(text)).ravel()
        proposed = np.argsort(-cosines, kind="stable")[:PROPOSED].tolist()
        scores = {at: self.score(self._texts[at], text) for at in proposed}
        best = max(scores, key=lambda at: scores[at])
        nearest = self._texts[best]
        others = (s for at, s in scores.items() if at != best and apart(self._texts[at], nearest))
        next_best = max(others, default=0.0)

        if scores[best] < max(self.threshold, MARGIN * next_best):
            return None

        return Nearest(self._names[best], scores[best])

    @cached_property
    def _vectors(self) -> Any:
        """[documents, dimensions], of unit length; sparse where stems are compared."""
        if self._embed is not None:
            return self._embed(self._texts)

        from scipy.sparse import csr_matrix, vstack

        return vstack([csr_matrix(self._vector(text)) for text in self._texts], format="csr")

    def _vector(self, text: str) -> npt.NDArray[np.float32]:
        """A text as the encoder has it: embedded, or the weights of its stems."""
        if self._embed is not None:
            found: npt.NDArray[np.float32] = self._embed([text])[0]
            return found

        vector = np.zeros(len(self._words), np.float32)
        known = [word for word in set(stems(text)) if word in self._words]
        vector[[self._words[word] for word in known]] = [self._weights[word] for word in known]
        norm = np.linalg.norm(vector)

        return vector / norm if norm else vector


def _tells(text: str) -> bool:
    """Whether a text says enough, and no more than a task does."""
    return LEAST_STEMS <= len(set(stems(text))) <= MOST_STEMS


def _pair(place: int) -> tuple[int, int]:
    """The pair at a place in the order (1, 0), (2, 0), (2, 1), (3, 0), ..."""
    high = int((1 + (1 + 8 * place) ** 0.5) / 2)
    high -= high * (high - 1) // 2 > place

    return high, place - high * (high - 1) // 2


def apart(one: str, other: str) -> bool:
    """Whether two texts share no run of 8 words: variants of one task do."""
    return _runs(one).isdisjoint(_runs(other))


@lru_cache(maxsize=4096)
def _runs(text: str) -> frozenset[Run]:
    """The runs of 8 words of a text."""
    return frozenset(runs(words_in(text), _RUN))
