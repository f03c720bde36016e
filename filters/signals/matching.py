"""Phrases in a message: word for word, or by the characters or words that both have; each message
is looked at once.

A phrase matches where it stands in the message token by token, or the Jaccard similarity of the
character trigrams is at least 0.65, or the cosine of the token counts at least 0.60.
"""

import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain

import msgspec
import numpy as np
import numpy.typing as npt

from synth.text.pattern_set import PatternSet

TRIGRAMS = 0.65
COSINE = 0.60
"""Similarities from which on a phrase matches."""
LONGEST = 2000
"""Characters of a message; of longer ones the first fifth and the end."""
# typographic quotes and dashes as they are typed
_PLAIN = str.maketrans("\u2019\u2018\u201c\u201d\u2013\u2014", "''\"\"--")
Array = npt.NDArray[np.float64]


class TokenizedText(msgspec.Struct, frozen=True):
    """A text as it is compared: cut, and its tokens without punctuation at their ends."""

    text: str
    tokens: tuple[str, ...]


@lru_cache(maxsize=8192)
def message(text: str) -> TokenizedText:
    """A text, prepared; kept for the next transcript that says the same."""
    if len(text) > LONGEST:
        head = LONGEST // 5
        text = f"{text[:head]} {text[len(text) - (LONGEST - head - 1) :]}"
    return TokenizedText(text, _tokens(text))


def _tokens(text: str) -> tuple[str, ...]:
    """Words in lower case, punctuation at their ends aside."""
    words = text.translate(_PLAIN).lower().split()
    return tuple(token for word in words if (token := word.strip(string.punctuation)))


def trigrams(text: str) -> frozenset[str]:
    """Distinct runs of three characters, those across two words among them; of fewer than three
    characters none.
    """
    return frozenset(map("".join, zip(text, text[1:], text[2:], strict=False)))


def _bare(phrase: str) -> str:
    """A phrase as its trigrams and token counts are taken: without any punctuation, where a message
    keeps what stands within its words.
    """
    spelled = phrase.translate(_PLAIN).lower()
    kept = (char for char in spelled if char.isalnum() or char in "_ ")
    return " ".join("".join(kept).split())


class _Counts:
    """Counts of something in every phrase, as a matrix [things, phrases]; `squares` are the sums of
    their squares by phrase.

    Of words for the cosine, of trigrams (each once) for the Jaccard similarity: a product gives the
    dot product, or the number shared, for all phrases at once.
    """

    def __init__(self, phrases: Sequence[Iterable[str]]) -> None:
        counted = [Counter(phrase) for phrase in phrases]
        self._row = {thing: at for at, thing in enumerate(dict.fromkeys(chain(*counted)))}
        table = [[counts[thing] for counts in counted] for thing in self._row]
        self._counts: Array = np.array(table, np.float64)
        self.squares: Array = (self._counts**2).sum(axis=0)

    def dots(self, counts: Mapping[str, int]) -> Array:
        """[phrases], of a message's counts with those of every phrase; what no phrase has adds
        nothing.
        """
        known = [thing for thing in counts if thing in self._row]
        weights = np.array([counts[thing] for thing in known], np.float64)
        found: Array = weights @ self._counts[[self._row[thing] for thing in known]]
        return found


class Phrases:
    """Lists of phrases by name: what a message matches is worked out for all of them at once, as
    products with matrices of counts.
    """

    def __init__(self, lists: Mapping[str, Sequence[str]]) -> None:
        self._phrases = [(name, phrase) for name, found in lists.items() for phrase in found]
        texts = [phrase for _, phrase in self._phrases]
        bare = [_bare(phrase) for phrase in texts]
        self._whole = PatternSet(
            {str(at): f" {' '.join(_tokens(phrase))} " for at, phrase in enumerate(texts)}
        )

        self._words = _Counts([phrase.split() for phrase in bare])
        self._trigrams = _Counts([trigrams(phrase) for phrase in bare])

        # more trigrams than these, and no phrase can have the share of them that a match needs
        self._most_trigrams = self._trigrams.squares.max() / TRIGRAMS + 1
        self._cached = lru_cache(maxsize=8192)(self._matched)

    def first(self, tokens: tuple[str, ...]) -> Mapping[str, str]:
        """List -> its first phrase that matches, for the lists that have one."""
        return self._cached(tokens)

    def forget(self) -> None:
        """Empties what is remembered between messages."""
        self._cached.cache_clear()

    def _matched(self, tokens: tuple[str, ...]) -> Mapping[str, str]:
        """The phrases that match in one of the three ways; of a list the first is told."""
        if not tokens:
            return {}

        # tokens hold no space, so a phrase between spaces stands there token by token
        text = " ".join(tokens)
        found = {int(at) for at in self._whole.hits(f" {text} ")}

        counts = Counter(tokens)
        length = np.sqrt(sum(count * count for count in counts.values()))
        cosines = self._words.dots(counts) / (length * np.sqrt(self._words.squares))
        found.update(np.flatnonzero(cosines >= COSINE).tolist())

        # the beginning of a long message rules most of them out
        mine = trigrams(text[: 4 * int(self._most_trigrams)])

        if len(mine) <= self._most_trigrams:
            mine = trigrams(text)
            shared = self._trigrams.dots(dict.fromkeys(mine, 1))
            both = len(mine) + self._trigrams.squares - shared
            found.update(np.flatnonzero(shared / both >= TRIGRAMS).tolist())

        # of a list the first phrase comes last, and is the one that stays
        return dict(self._phrases[at] for at in sorted(found, reverse=True))
