"""What is known of an entity in words, and which entities a person's sentence fits."""

import re
from collections.abc import Iterator
from functools import lru_cache
from types import NoneType
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
    found = [words for value in (entry, *seen) for words in _kept(objects, value)]
    if seen:
        return found

    listed = [one for one in _identifiers(entry) if one != identifier]

    return found + [words for one in listed for words in known_by_answers(objects, one)]


def known_by_answers(objects: Objects, identifier: str) -> list[Words]:
    """The same from its own answers alone."""
    described = objects.described.get(identifier, ())
    return [words for value in described for words in _kept(objects, value)]


def _kept(objects: Objects, value: Any) -> list[Words]:
    """The words of an object of the index, computed once."""
    if id(value) not in objects.words:
        objects.words[id(value)] = list(leaves(value))

    return objects.words[id(value)]


def leaves(value: Any, around: Words = frozenset()) -> Iterator[Words]:
    """The words of each innermost object, with those that stand directly around it."""
    parts = _parts(value)
    inner = [part for part in parts if type(part) is dict]
    plain = [part for part in parts if type(part) not in (dict, list, bool, NoneType)]
    direct = around.union(_VALUE.findall(" ".join(map(str, plain)).casefold()))
    if not inner:
        yield direct

    for part in inner:
        yield from leaves(part, direct)


def _identifiers(entry: Any) -> list[str]:
    """The identifiers that an entity's entry holds, one level deep."""
    return [text for text in _parts(entry) if isinstance(text, str) and is_identifier(text)]


def _parts(value: Any) -> list[Any]:
    """What an object or a list holds, with the members of the lists in it."""
    parts = []
    for entry in value.values() if isinstance(value, dict) else value:
        parts += entry if type(entry) is list else [entry]

    return parts
