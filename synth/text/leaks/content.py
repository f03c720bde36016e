"""The words of a text that say of what it speaks, apart from those that give it its form."""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

import msgspec

from synth.text.data_files import read
from synth.text.paraphrase.masking import stem

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
EMPTY = "empty"
"""The kind of words that say nothing of a sentence, neither of its form nor of what it is about."""
_LEAST = 3
"""Signs of a stem that says anything."""


class _Kinds(msgspec.Struct, frozen=True):
    """`data/leaks/telling_kinds.yaml`."""

    kinds: Mapping[str, str]


@cache
def kinds_of_form() -> Mapping[str, frozenset[str]]:
    """Word -> its kinds, of words by which a sentence plans, asks, supposes or asserts."""
    found: dict[str, set[str]] = {}
    for kind, words in read("data/leaks/telling_kinds.yaml", _Kinds).kinds.items():
        for word in words.split():
            found.setdefault(word, set()).add(kind)

    return {word: frozenset(kinds) for word, kinds in found.items()}


def words_of(text: str) -> Iterator[str]:
    """The words of a text, without what hangs behind an apostrophe."""
    return (re.split(r"['’]", word)[0] for word in _WORD.findall(text.replace("_", " ")))


@lru_cache(maxsize=8192)
def stems_of(text: str) -> frozenset[str]:
    """The stems of a text that are no words of form."""
    form = kinds_of_form()
    found = (stem(word) for word in words_of(text) if word.casefold() not in form)
    return frozenset(one for one in found if len(one) >= _LEAST)
