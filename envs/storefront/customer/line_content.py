"""What a line of the customer says, as marks: facts by kind, stances, actions. Two wordings say the
same where their marks are the same.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.envs.storefront.check.leaks import identifiers
from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.catalogue import COLOURS, NOUNS
from synth.envs.storefront.world.customers import PROPER_NAMES

Mark = tuple[str, str]
"""A kind and a value."""

FACTS = ("id", "email", "code", "number", "colour", "item", "name")
"""Kinds whose values are copied to the letter."""
COPIED = (*FACTS, "word")
"""Kinds that a model is told to copy."""

PATTERNS: Mapping[str, Any] = texts("marks")


def _word_in(words: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})\b")


def _any(alternatives: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.MULTILINE)


def _all(patterns: Mapping[str, Sequence[str]]) -> Mapping[str, re.Pattern[str]]:
    return {name: _any(alternatives) for name, alternatives in patterns.items()}


_NOT = "do not|don't|not|never|no need to|instead of|rather than|without"
_VERBS: Mapping[str, str] = PATTERNS["verbs"]
NAMED: Mapping[str, Mapping[str, re.Pattern[str]]] = {
    "stance": _all(PATTERNS["stances"]),
    "word": _all(PATTERNS["key_words"]),
    "action": _all({name: [rf"\b(?:{verb})"] for name, verb in _VERBS.items()}),
    "not": _all({name: [rf"\b(?:{_NOT}) (?:to )?(?:{verb})"] for name, verb in _VERBS.items()}),
}
"""Kinds of marks whose value is the name of the pattern."""
FOUND = {kind: _any(PATTERNS[f"{kind}s"]) for kind in ("hedge", "claim")} | {
    "agent": _any(PATTERNS["agent"])
}
"""Kinds of marks whose value is what was found."""
_OUT_OF_ROLE = _any(PATTERNS["out_of_role"])
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_CODE = re.compile(r"\b[A-Z]{2,}\d+\b")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NUMBER_WORDS = _word_in(PATTERNS["number_words"].split())
_COLOUR = _word_in([*COLOURS, *PATTERNS["other_colours"].split()])
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
    for kind, patterns in NAMED.items():
        yield from ((kind, name) for name, words in patterns.items() if words.search(lowered))
    for kind, words in FOUND.items():
        yield from ((kind, found) for found in words.findall(lowered))
    yield from (("role", found.strip()) for found in _OUT_OF_ROLE.findall(text.lower()))
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
