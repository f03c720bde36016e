"""What a text speaks of: its words apart from those that give it its form, and whether a sentence
tells what to do, or how things are.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache

import msgspec

from synth.text.data_files import read
from synth.text.paraphrase.masking import stem, words_of
from synth.text.word_signs import kinds_by_word

LABEL = re.compile(r"^[\s*-]*(?:\w+: +)?")
"""What stands before a line of a list."""
_ORDERS = frozenset({"never", "always", "please", "don't", "don’t", "do"})
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
    return kinds_by_word(read("data/leaks/telling_kinds.yaml", _Kinds).kinds)


@lru_cache(maxsize=8192)
def stems_of(text: str) -> frozenset[str]:
    """The stems of a text that are no words of form."""
    form = kinds_of_form()
    found = (stem(word) for word in words_of(text) if word.casefold() not in form)
    return frozenset(one for one in found if len(one) >= _LEAST)


class _AdviceWords(msgspec.Struct, frozen=True):
    """What of `data/leaks/words.yaml` tells advice from facts."""

    advice: str
    before_advice: str
    conditions: str


@cache
def _advice() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    found = read("data/leaks/words.yaml", _AdviceWords)
    told = (found.advice, found.before_advice, found.conditions)
    first, second, third = (frozenset(words.split()) for words in told)
    return first, second, third


def is_advice(sentence: str) -> bool:
    """Whether a sentence of a lesson tells what to do, and not how things are."""
    verbs, before, conditions = _advice()
    clauses = re.split(r",\s*", LABEL.sub("", sentence, count=1))
    words = re.findall(r"[\w'’]+", clauses[0].casefold())

    if words and words[0] in _ORDERS:
        return True
    if words and words[0] in conditions:
        # "where several fit, ask which one"; a condition alone states nothing either
        if len(clauses) == 1:
            return any(word in verbs for word in words)
        words = re.findall(r"[\w'’]+", " ".join(clauses[1:]).casefold())

    # an adverb or two may stand before the verb, as in "carefully read"
    opening = [word for word in words[:4] if word not in before]
    return not opening or opening[0] in verbs
