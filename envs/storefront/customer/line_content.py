"""What a line of the customer says, as marks: facts by kind, stances, actions. Two wordings say the
same where their marks are the same.
"""

import re
from collections.abc import Iterator

from synth.envs.storefront.customer.line_patterns import (
    ACTIONS,
    AGENT,
    CLAIMS,
    HEDGES,
    KEY_WORDS,
    NOT_DONE,
    OUT_OF_ROLE,
    STANCES,
)
from synth.envs.storefront.customer.told import identifiers
from synth.envs.storefront.world.catalogue import COLOURS, NOUNS
from synth.envs.storefront.world.people import PROPER_NAMES

Mark = tuple[str, str]
"""A kind and a value."""

FACTS = ("id", "email", "code", "number", "colour", "item", "name")
"""Kinds whose values are copied to the letter."""
COPIED = (*FACTS, "word")
"""Kinds that a model is told to copy."""

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_CODE = re.compile(r"\b[A-Z]{2,}\d+\b")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NUMBER_WORDS = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|eighty|ninety|hundred|thousand)\b"
)
_OTHER_COLOURS = (
    "pink",
    "purple",
    "brown",
    "silver",
    "gold",
    "golden",
    "beige",
    "violet",
    "turquoise",
    "gray",
)
_COLOUR = re.compile(rf"\b(?:{'|'.join((*COLOURS, *_OTHER_COLOURS))})\b")
_ITEM = re.compile(rf"\b({'|'.join(sorted(NOUNS))})(?:e?s)?\b")
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_STARTS = re.compile(r"(?:^|[.!?:;\n\"(*\u2013\u2014-])\s*$")
_NO_NAMES = frozenset({"I", "I'm", "I'd", "I'll", "I've", "OK", "Ok"})


def marks(text: str) -> tuple[Mark, ...]:
    """All marks of a text, each once, those of a kind in the order in which the text has them."""
    return tuple(dict.fromkeys(_marks(text.replace("\u2019", "'").replace("\u2018", "'"))))


def _marks(text: str) -> Iterator[Mark]:
    facts = list(_facts(text))
    yield from facts
    yield from (("negated", value) for _, value in facts if _negated(value).search(text.lower()))
    lowered = _without_facts(text).lower().replace("e-mail", "email")
    yield from (("stance", name) for name, words in STANCES.items() if words.search(lowered))
    yield from (("word", name) for name, words in KEY_WORDS.items() if words.search(lowered))
    yield from (("action", name) for name, words in ACTIONS.items() if words.search(lowered))
    yield from (("not", name) for name, words in NOT_DONE.items() if words.search(lowered))
    yield from (("hedge", found) for found in HEDGES.findall(lowered))
    yield from (("claim", found) for found in CLAIMS.findall(lowered))
    yield from (("agent", found) for found in AGENT.findall(lowered))
    yield from (("role", found.strip()) for found in OUT_OF_ROLE.findall(text.lower()))
    if "?" in text:
        yield "question", "?"


def _facts(text: str) -> Iterator[Mark]:
    yield from (("id", found) for found in sorted(map(str, identifiers(text)), key=text.index))
    yield from (("email", found) for found in _EMAIL.findall(text))
    yield from (("code", found) for found in _CODE.findall(text))
    bare = _without_facts(text)
    lowered = bare.lower()
    yield from (
        ("number", found) for found in (*_NUMBER.findall(bare), *_NUMBER_WORDS.findall(lowered))
    )
    yield from (("colour", found) for found in _COLOUR.findall(lowered))
    yield from (("item", found) for found in _ITEM.findall(lowered))
    yield from (("name", word) for word in _names(bare))


def without_facts(text: str) -> str:
    """A text without all of its facts, in plain apostrophes."""
    text = text.replace("\u2019", "'").replace("\u2018", "'")
    for _, value in sorted(_facts(text), key=lambda mark: len(mark[1]), reverse=True):
        text = re.sub(rf"\b{re.escape(value)}(?:'s|e?s)?\b", " ", text, flags=re.IGNORECASE)
    return text


def _without_facts(text: str) -> str:
    """A text without what is no word: identifiers, e-mail addresses, codes."""
    for known in sorted(
        {*map(str, identifiers(text)), *_EMAIL.findall(text), *_CODE.findall(text)},
        key=len,
        reverse=True,
    ):
        text = text.replace(known, " ")
    return text


def _negated(value: str) -> re.Pattern[str]:
    return re.compile(
        r"(?:\bno\b|\bnot\b|n't|\bexcept\b|instead of|rather than)(?: \w+){0,2} "
        rf"{re.escape(value.lower())}\b"
    )


def _names(text: str) -> Iterator[str]:
    """Capitalised words that no sentence begins with, and those that people, cities and streets are
    called by wherever they stand.
    """
    for found in _WORD.finditer(text):
        word = found[0].removesuffix("'s")
        if not word[0].isupper() or word in _NO_NAMES:
            continue
        if word in PROPER_NAMES or not _STARTS.search(text[: found.start()]):
            yield word
