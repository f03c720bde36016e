"""What a line of the customer says, as marks: facts by kind, stances, actions. Two wordings say the
same where their marks are the same.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.catalogue import COLOURS, NOUNS
from synth.envs.storefront.world.customers import PROPER_NAMES

Mark = tuple[str, str]
"""A kind and a value."""
PATTERNS: Mapping[str, Any] = texts("marks")
FACTS = tuple(PATTERNS["facts"])
"""Kinds whose values are copied to the letter."""
COPIED = (*FACTS, "word")
"""Kinds that a model is told to copy."""

_LISTS = {"COLOURS": COLOURS, "NOUNS": sorted(NOUNS), "NAMES": sorted(PROPER_NAMES)}
_NOT = "do not|don't|not|never|no need to|instead of|rather than|without"
_TAKEN_BACK = r"(?:\bno\b|\bnot\b|n't|\bexcept\b|instead of|rather than)(?: \w+){0,2} "
"""What stands before a fact that is taken back."""


def _any(*alternatives: str) -> re.Pattern[str]:
    """A pattern of alternatives, with the world's own words in the place of their names."""
    pattern = "|".join(alternatives)

    for name, words in _LISTS.items():
        pattern = pattern.replace(name, "|".join(words))

    return re.compile(pattern, re.MULTILINE)


_FACTS = {kind: _any(pattern) for kind, pattern in PATTERNS["facts"].items()}
_VERBS: Mapping[str, str] = PATTERNS["verbs"]
_NAMED: Mapping[str, Mapping[str, re.Pattern[str]]] = {
    "stance": {name: _any(*words) for name, words in PATTERNS["stances"].items()},
    "word": {name: _any(*words) for name, words in PATTERNS["key_words"].items()},
    "action": {name: _any(rf"\b(?:{verb})") for name, verb in _VERBS.items()},
    "not": {name: _any(rf"\b(?:{_NOT}) (?:to )?(?:{verb})") for name, verb in _VERBS.items()},
}
"""Kinds of marks whose value is the name of the pattern."""
_FOUND = {
    "hedge": _any(*PATTERNS["hedges"]),
    "claim": _any(*PATTERNS["claims"]),
    "agent": _any(*PATTERNS["agent"]),
    "question": re.compile(r"\?"),
}
"""Kinds of marks whose value is what was found."""
_OUT_OF_ROLE = _any(*PATTERNS["out_of_role"])


def marks(text: str) -> tuple[Mark, ...]:
    """All marks of a text, each once, those of a kind in the order in which the text has them."""
    return tuple(dict.fromkeys(_marks(_plain(text))))


def without_facts(text: str) -> str:
    """A text without all of its facts, in plain apostrophes."""
    text = _plain(text)

    for pattern in _FACTS.values():
        text = pattern.sub(" ", text)

    return text


def _plain(text: str) -> str:
    """A text with plain apostrophes, as the patterns have them."""
    return text.replace("\u2019", "'").replace("\u2018", "'")


def _marks(text: str) -> Iterator[Mark]:
    """The marks of a text, facts first."""
    facts: list[Mark] = []
    rest = text

    for kind, pattern in _FACTS.items():
        # names are told by what stands before them, so that a fact leaves a letter behind
        facts += [(kind, found) for found in pattern.findall(rest)]
        rest = pattern.sub("_", rest)

    yield from facts

    lowered = text.lower().replace("e-mail", "email")

    for _, value in facts:
        if re.search(rf"{_TAKEN_BACK}{re.escape(value.lower())}\b", lowered):
            yield "negated", value

    for kind, patterns in _NAMED.items():
        yield from ((kind, name) for name, words in patterns.items() if words.search(lowered))
    for kind, words in _FOUND.items():
        yield from ((kind, found) for found in words.findall(lowered))

    yield from (("role", found.strip()) for found in _OUT_OF_ROLE.findall(lowered))
