"""Phrases in a message: word for word, or by the characters or words that both have; each message
is looked at once.

A phrase matches where it stands in the message token by token, or the Jaccard similarity of the
character trigrams is at least 0.65, or
the cosine of the token counts at least 0.60. Both similarities are only worked out where their
upper bounds allow a match.
"""

import string
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import sqrt

import msgspec

TRIGRAMS = 0.65
COSINE = 0.60
LONGEST = 2000
"""Characters of a message; of longer ones the first fifth and the end."""
_PUNCTUATION = string.punctuation
_PLAIN = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"}
)
_SLACK = 1e-9


class Message(msgspec.Struct, frozen=True):
    """A text as it is compared: cut, and its tokens without punctuation at their ends."""

    text: str
    tokens: tuple[str, ...]


def cut(text: str) -> str:
    """At most `LONGEST` characters."""
    if len(text) <= LONGEST:
        return text
    head = LONGEST // 5
    return f"{text[:head]} {text[len(text) - (LONGEST - head - 1) :]}"


@lru_cache(maxsize=8192)
def message(text: str) -> Message:
    """A text, prepared; kept for the next transcript that says the same."""
    short = cut(text)
    return Message(short, tokens_of(short))


def tokens_of(text: str) -> tuple[str, ...]:
    """Words in lower case, punctuation at their ends aside."""
    words = text.translate(_PLAIN).lower().split()
    return tuple(token for word in words if (token := word.strip(_PUNCTUATION)))


def trigrams(text: str) -> frozenset[str]:
    """Distinct runs of three characters."""
    return frozenset(map("".join, zip(text, text[1:], text[2:], strict=False)))


def without_punctuation(phrase: str) -> str:
    """A phrase as its trigrams and token counts are taken."""
    kept = "".join(
        char
        for char in phrase.translate(_PLAIN).lower()
        if char.isalnum() or char == "_" or char.isspace()
    )
    return " ".join(kept.split())


class Phrases:
    """Lists of phrases by name."""

    def __init__(self, lists: Mapping[str, Sequence[str]]) -> None:
        self._texts: list[str] = []
        self._list_of: list[str] = []
        self._exact: dict[tuple[str, ...], list[int]] = {}
        self._trigrams: list[frozenset[str]] = []
        self._norms: list[float] = []
        self._counts: dict[str, list[tuple[int, int]]] = {}
        for name, phrases in lists.items():
            for phrase in phrases:
                self._add(name, phrase)
        self._lengths = sorted({len(tokens) for tokens in self._exact})
        self._largest = max(map(len, self._trigrams)) / TRIGRAMS + _SLACK
        self._widest = max(len(tokens) for tokens in self._exact)
        self._first = {tokens[0] for tokens in self._exact}
        self._cached = lru_cache(maxsize=8192)(self._matched)

    def _add(self, name: str, phrase: str) -> None:
        at = len(self._texts)
        self._texts.append(phrase)
        self._list_of.append(name)
        self._exact.setdefault(tokens_of(phrase), []).append(at)
        plain = without_punctuation(phrase)
        self._trigrams.append(trigrams(plain))
        counts = Counter(plain.split())
        self._norms.append(sqrt(sum(count * count for count in counts.values())))
        for token, count in counts.items():
            self._counts.setdefault(token, []).append((at, count))

    def first(self, tokens: tuple[str, ...]) -> Mapping[str, str]:
        """List -> its first phrase that matches, for the lists that have one."""
        return self._cached(tokens)

    def forget(self) -> None:
        """Empties what is remembered between messages."""
        self._cached.cache_clear()

    def _matched(self, tokens: tuple[str, ...]) -> Mapping[str, str]:
        found = self._word_for_word(tokens) | self._by_words(tokens) | self._by_characters(tokens)
        first: dict[str, str] = {}
        for at in sorted(found):
            first.setdefault(self._list_of[at], self._texts[at])
        return first

    def _word_for_word(self, tokens: tuple[str, ...]) -> set[int]:
        found: set[int] = set()
        for start, token in enumerate(tokens):
            if token in self._first:
                for length in self._lengths:
                    found.update(self._exact.get(tokens[start : start + length], ()))
        return found

    def _by_words(self, tokens: tuple[str, ...]) -> set[int]:
        counts = Counter(tokens)
        norm = sum(count * count for count in counts.values())
        shared = [
            (count * count, token) for token, count in counts.items() if token in self._counts
        ]
        shared.sort(reverse=True)
        if sum(square for square, _ in shared[: self._widest]) < COSINE * COSINE * norm - _SLACK:
            return set()
        dots: dict[int, int] = {}
        for _, token in shared:
            for at, count in self._counts[token]:
                dots[at] = dots.get(at, 0) + count * counts[token]
        length = sqrt(norm)
        return {at for at, dot in dots.items() if dot / (length * self._norms[at]) >= COSINE}

    def _by_characters(self, tokens: tuple[str, ...]) -> set[int]:
        text = " ".join(tokens)
        if len(trigrams(text[: 4 * int(self._largest)])) > self._largest:
            return set()
        mine = trigrams(text)
        if not 0 < len(mine) <= self._largest:
            return set()
        found = set()
        for at, theirs in enumerate(self._trigrams):
            if min(len(mine), len(theirs)) >= TRIGRAMS * max(len(mine), len(theirs)) - _SLACK:
                both = len(mine & theirs)
                if both / (len(mine) + len(theirs) - both) >= TRIGRAMS:
                    found.add(at)
        return found
