"""What is known of an entity in words, and which entities a person's sentence fits."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from synth.text.provenance.objects import Objects, is_identifier

_WORD = re.compile(r"[a-z0-9][a-z0-9.\-]*[a-z0-9]")
_VALUE = re.compile(r"[a-z0-9][a-z0-9.\-]*[a-z0-9]|(?<![a-z0-9])[a-z](?![a-z0-9])")
"""Also sizes like M."""
_SENTENCE = re.compile(r"\n+|(?<=[.!?;])\s+")
Words = frozenset[str]


@lru_cache(maxsize=4096)
def sentences(text: str) -> tuple[Words, ...]:
    """The words of each sentence or line, folded; single characters say nothing."""
    found = [frozenset(_WORD.findall(part.casefold())) for part in _SENTENCE.split(text)]
    return tuple(words for words in found if words)


def known(objects: Objects, identifier: str, entry: Any) -> list[Words]:
    """What is known of an entity, one set of words per innermost object.

    That is its entry, its own answers, and, one step on, the entities that its entry lists.
    """
    seen = [value for value in objects.described.get(identifier, ()) if value is not entry]
    found = [leaf for value in (entry, *seen) for leaf in _kept(objects, value)]
    if not seen:
        for listed in _identifiers(entry):
            if listed != identifier:
                found += known_by_answers(objects, listed)
    return found


def known_by_answers(objects: Objects, identifier: str) -> list[Words]:
    """The same from its own answers alone."""
    return [
        leaf for value in objects.described.get(identifier, ()) for leaf in _kept(objects, value)
    ]


def _kept(objects: Objects, value: Any) -> list[Words]:
    """The leaves of an object of the index, computed once."""
    found = objects.words.get(id(value))
    if found is None:
        found = objects.words[id(value)] = list(leaves(value))
    return found


def leaves(value: Any, around: Words = frozenset()) -> Iterator[Words]:
    """The words of each innermost object, with those that stand directly around it."""
    parts = []
    for entry in value.values() if isinstance(value, dict) else value:
        parts += entry if type(entry) is list else [entry]
    inner = [part for part in parts if type(part) is dict]
    texts = [
        str(part) for part in parts if part is not None and type(part) not in (dict, list, bool)
    ]
    direct = around.union(_VALUE.findall(" ".join(texts).casefold()))
    if not inner:
        yield direct
    for part in inner:
        yield from leaves(part, direct)


def _identifiers(entry: Any) -> Iterator[str]:
    for value in entry.values() if isinstance(entry, dict) else entry:
        for text in value if isinstance(value, list) else (value,):
            if isinstance(text, str) and is_identifier(text):
                yield text
