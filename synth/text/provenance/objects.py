"""The JSON that tools answered with, indexed.

Small numbers by key, entities that stand side by side, and what names an entity.
"""

import re
from collections import defaultdict
from functools import lru_cache
from typing import Any

from synth.text.json_values import json_in

JsonObject = dict[str, Any]
Group = dict[str, Any]
"""Entities side by side: identifier -> what stands there of each."""

SMALL = 100
"""Whole numbers below this stand everywhere; they prove something only under a key of the
argument's name.
"""
MOST_SIBLINGS = 200
_DEEPEST = 60
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DIGIT = re.compile(r"\d")


class Objects:
    """An index over all JSON answers so far.

    Answers that are no JSON, or nested more than 60 deep, are left out.
    """

    def __init__(self) -> None:
        self.numbers_of = defaultdict[str, set[int]](set)
        """Stem of a key -> the small whole numbers seen under it, other than in answers to calls
        with an argument of that name.
        """
        self.length_of = defaultdict[str, int](int)
        """Identifier -> length of the longest list that stands in an object about it."""
        self.groups_of = defaultdict[str, list[Group]](list)
        """Identifier -> the groups in which it stands."""
        self.described = defaultdict[str, list[JsonObject]](list)
        """Identifier -> the objects that are about it: those that were asked for with it, else
        those that it identifies.
        """
        self.related = defaultdict[str, set[str]](set)
        """Identifier -> the entities whose objects name it, not as one of several (the payment of
        an order, its address).
        """
        self.documents: list[Any] = []
        self.words: dict[int, list[frozenset[str]]] = {}
        """Words of an object by its `id`: groups and documents keep the objects alive."""
        self._pages = defaultdict[tuple[str, str], Group](dict)
        self._asked = ""

    def read(self, content: str, asked: str) -> None:
        """Adds an answer; `asked` are the arguments of the call that it answers."""
        value = json_in(content)
        if value is None:
            return

        self._asked = asked

        try:
            self._visit(value, "", None, 0)
        except RecursionError:
            return

        self.documents.append(value)

    def _visit(self, value: Any, key: str, owner: str | None, depth: int) -> None:
        """`owner`: the entity that a value belongs to alone, None for one among siblings."""
        kind = type(value)

        if kind is dict:
            if depth > _DEEPEST:
                raise RecursionError

            about = self._identity(value, key, owner) or owner

            for name, entry in value.items():
                self._visit(entry, name, about, depth + (type(entry) is dict))
                if type(entry) is list and about is not None and not self._echoes(name):
                    self.length_of[about] = max(self.length_of[about], len(entry))

            self._keyed(value)
        elif kind is list:
            self._list(value, key, owner, depth)
        elif kind is int and 0 <= value < SMALL and not self._echoes(key):
            self.numbers_of[stem(key)].add(value)

    def _keyed(self, value: JsonObject) -> None:
        """Objects by their identifiers stand side by side, too."""
        only_objects = all(type(entry) is dict for entry in value.values())

        if len(value) > 1 and only_objects and all(map(is_identifier, value)):
            self._stand(dict(value), {})
            for name, entry in value.items():
                self.described[name].append(entry)

    def _echoes(self, name: str) -> bool:
        """Whether the call had an argument of that name: the answer repeats the agent's number."""
        return f'"{name}"' in self._asked

    def _identity(self, value: JsonObject, key: str, owner: str | None) -> str | None:
        """The identifier that an object is about, if any; the others in it are related to that."""
        named = [
            (name, entry)
            for name, entry in value.items()
            if type(entry) is str and is_identifier(entry)
        ]
        if not named:
            return None

        _, own = min(named, key=lambda one: (one[1] not in self._asked, *_rank(one[0], key)))
        self.described[own].append(value)
        if owner is not None and owner != own:
            self.related[own].add(owner)

        for _, entry in named:
            if entry != own:
                self.related[entry].add(own)

        return own

    def _list(self, value: list[Any], key: str, owner: str | None, depth: int) -> None:
        """A list's members; those of an outermost list join the group of its other pages."""
        first = type(value[0]) if value else None
        members = [one for one in value if type(one) is first]

        if first is dict:
            for entry in members:
                self._visit(entry, key, owner if len(members) == 1 else None, depth + 1)

            self._entities(members, key, outermost=depth == 0)
        elif first is str:
            self._stand({name: {} for name in members if is_identifier(name)}, {})
        elif first is int:
            for number in members:
                self._visit(number, key, owner, depth)

    def _entities(self, entries: list[JsonObject], key: str, *, outermost: bool) -> None:
        """Objects of one list stand side by side by a field of different identifiers.

        That is order_id in orders, else the first *id.
        """
        fields = [
            name
            for name, sample in entries[0].items()
            if type(sample) is str and is_identifier(sample)
        ]

        for name in sorted(fields, key=lambda name: _rank(name, key)):
            named = {entry[name]: entry for entry in entries if type(entry.get(name)) is str}
            if len(named) == len(entries):
                self._stand(named, self._pages[key, name] if outermost else {})
                return

    def _stand(self, named: Group, group: Group) -> None:
        """Adds entities to a group of siblings, as far as it takes more."""
        for identifier, entry in named.items():
            if identifier not in group and len(group) < MOST_SIBLINGS:
                group[identifier] = entry
                self.groups_of[identifier].append(group)


@lru_cache(maxsize=65536)
def is_identifier(text: str) -> bool:
    """Whether a text looks like an identifier.

    That is one word of 3 to 40 characters with a digit in it, and no date or decimal.
    """
    return (
        3 <= len(text) <= 40
        and _DIGIT.search(text) is not None
        and " " not in text
        and "." not in text
        and _DATE.match(text) is None
    )


@lru_cache(maxsize=4096)
def _rank(name: str, key: str) -> tuple[bool, bool]:
    """Order of the fields that may identify an object: named like its list, named id, any other."""
    lowered = name.lower()
    return not (key and lowered.startswith(stem(key))), not lowered.endswith("id")


@lru_cache(maxsize=4096)
def stem(name: str) -> str:
    """lines -> line."""
    lowered = name.lower()
    return lowered[:-1] if lowered.endswith("s") else lowered
