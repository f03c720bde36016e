"""What is known of an entity in words, and which entities a person's sentence fits."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from synth.text.provenance.objects import JsonObject, Objects, is_identifier

_WORD = re.compile(r"[a-z0-9][a-z0-9.\-]*[a-z0-9]")
_VALUE = re.compile(
    r"[a-z0-9][a-z0-9.\-]*[a-z0-9]|(?<![a-z0-9])[a-z](?![a-z0-9])"
)  # also sizes like M
_SENTENCE = re.compile(r"\n+|(?<=[.!?;])\s+")
Words = frozenset[str]


@lru_cache(maxsize=4096)
def sentences(text: str) -> tuple[Words, ...]:
    """The words of each sentence or line, folded; single characters say nothing."""
    return tuple(
        words
        for part in _SENTENCE.split(text)
        if (words := frozenset(_WORD.findall(part.casefold())))
    )


def known(objects: Objects, identifier: str, entry: Any) -> list[Words]:
    """What is known of an entity, one set of words per innermost object: its entry, its own
    answers, and, one step on, the
    entities that its entry lists.
    """
    seen = objects.described.get(identifier, [])
    found = [
        *_kept(objects, entry),
        *(leaf for value in seen if value is not entry for leaf in _kept(objects, value)),
    ]
    if all(value is entry for value in seen):
        for listed in _identifiers(entry):
            if listed != identifier:
                found += [
                    leaf
                    for value in objects.described.get(listed, ())
                    for leaf in _kept(objects, value)
                ]
    return found


def _kept(objects: Objects, value: Any) -> list[Words]:
    """The leaves of an object of the index, computed once."""
    found = objects.words.get(id(value))
    if found is None:
        found = objects.words[id(value)] = list(leaves(value))
    return found


def leaves(value: Any, around: Words = frozenset()) -> Iterator[Words]:
    """The words of each innermost object, with those that stand directly in the objects around
    it.
    """
    inner: list[JsonObject] = []
    texts: list[str] = []
    for entry in value.values() if isinstance(value, dict) else value:
        kind = type(entry)
        if kind is dict:
            inner.append(entry)
        elif kind is list:
            for part in entry:
                if type(part) is dict:
                    inner.append(part)
                elif type(part) is not list:
                    texts.append(str(part))
        elif kind is str:
            texts.append(entry)
        elif kind is not bool and entry is not None:
            texts.append(str(entry))
    direct = around.union(_VALUE.findall(" ".join(texts).casefold()))
    if not inner:
        yield direct
    for entry in inner:
        yield from leaves(entry, direct)


def _identifiers(entry: Any) -> Iterator[str]:
    for value in entry.values() if isinstance(entry, dict) else entry:
        for text in value if isinstance(value, list) else (value,):
            if isinstance(text, str) and is_identifier(text):
                yield text
