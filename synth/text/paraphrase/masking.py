"""A text without its entities: what is left is what it asks for, not of whom or which."""

import re
from functools import lru_cache

_ENTITY = re.compile(
    # each begins where a run of such signs does: else a long run is looked through from each sign
    r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"  # addresses
    r"|(?<!\w)[#$€£]?\w*\d[\w.,:/-]*"  # whatever holds a digit
    r"|\b\w+_\w+\b"  # names of users and fields
    r"|(?<=[\w,;:'’)] )[A-ZÀ-Þ][\w'’-]*(?: [A-ZÀ-Þ][\w'’-]*)*"  # names within a sentence
)
WORD = re.compile(r"([^\W\d_]+)(?:['’][^\W\d_]+)?")
"""A word, and what hangs behind an apostrophe of it apart."""
_ENDING = re.compile(r"(?:ations?|ments?|ingly|edly|ings?|ions?|ers?|ies|ied|ed|es|ly|s|e|y)$")
_LEAST = 3
"""Letters of a stem."""


@lru_cache(maxsize=8192)
def masked(text: str) -> str:
    """The text with a blank in the place of each entity: identifiers, numbers, addresses, names."""
    return _ENTITY.sub(" ", text)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A word without the ending of its form: cancelled, cancels, cancellation -> cancel(l)."""
    folded = word.casefold()
    bare = _ENDING.sub("", folded)
    bare = bare[:-1] if len(bare) > _LEAST and bare[-1:] == bare[-2:-1] else bare

    return bare if len(bare) >= _LEAST else folded


def words_of(text: str) -> list[str]:
    """The words of a text, without what hangs behind an apostrophe."""
    return WORD.findall(text)


@lru_cache(maxsize=8192)
def stems(text: str) -> tuple[str, ...]:
    """The stems of a masked text in their order."""
    return tuple(map(stem, words_of(masked(text))))
