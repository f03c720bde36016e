"""Which calls change something.

The world declares it, or the tool's name says it, or where that has no known verb the description.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from synth.schemas import ToolSchema
from synth.text.data_files import read

Effectful = Callable[[str], bool]
"""Tool name -> whether a call of it changes something."""


class _Verbs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Verbs by what they do; `reads_only` and `particles`: verb -> the words beside it."""

    reads: str
    talks: str
    changes: str
    reads_only: Mapping[str, str]
    particles: Mapping[str, str]
    writes: str


_VERBS = read("text/provenance/data/verbs.yaml", _Verbs)
_DESCRIBED_ONLY = frozenset({"return", "detect", "suggest"})
"""In a description what a tool gives back; as a tool's name a purchase that is returned."""
READING_VERBS = frozenset(_VERBS.reads.split()) - _DESCRIBED_ONLY
"""First words of the names of tools that change nothing."""
TALKING_VERBS = frozenset(_VERBS.talks.split())
"""First words of the names of tools that only speak."""
WRITING_VERBS = frozenset(_VERBS.writes.split())
"""First words of the names of tools that make files, or change them."""
_CHANGING_VERBS = frozenset(_VERBS.changes.split())
_DESCRIBED = READING_VERBS | _DESCRIBED_ONLY
_OBJECTS = {verb: frozenset(words.split()) for verb, words in _VERBS.reads_only.items()}
_PARTICLES = {verb: frozenset(words.split()) for verb, words in _VERBS.particles.items()}
_ASKS_SOMEBODY = re.compile(r"_with_(?:customer|user)$")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_INFLECTED = re.compile(r"(?:ies|es|s|ing|ed)$")


@lru_cache(maxsize=4096)
def effectful_by_name(tool: str) -> bool:
    """Heuristic: whether a tool changes something, by its name.

    It does unless the first word is a reading or talking verb with an object that can be read
    (`open_file`, not `open_box`), or the last words say that somebody is asked
    (`confirm_with_customer`).
    """
    verb, *others = _words(tool) or [""]
    if _ASKS_SOMEBODY.search(tool) or verb in TALKING_VERBS:
        return False

    other_verb = bool(others) and others[0] in _PARTICLES.get(verb, ())
    objects = _OBJECTS.get(verb)
    readable = objects is None or not others or any(_singular(one) in objects for one in others)

    return verb not in READING_VERBS or other_verb or not readable


def _words(tool: str) -> list[str]:
    """The words of a tool's name in small letters, without a module or server before them."""
    words = _WORD.findall(tool.rsplit(".", 1)[-1].rsplit("__", 1)[-1])
    return [word.lower() for word in words]


def _singular(word: str) -> str:
    return word.removesuffix("s")


def first_word(tool: str) -> str:
    """The first word of a tool's name, in small letters; empty where it has none.

    A module or server that stands before the name is no part of it.
    """
    return next(iter(_words(tool)), "")


def read_only_hint(schema: ToolSchema | None) -> bool | None:
    """MCP's `annotations.readOnlyHint` of a tool, None where it has none."""
    for holder in (schema, (schema or {}).get("function")):
        annotations: Any = holder.get("annotations") if isinstance(holder, dict) else None
        if isinstance(annotations, dict) and isinstance(annotations.get("readOnlyHint"), bool):
            return bool(annotations["readOnlyHint"])

    return None


def changes(tool: str, schema: ToolSchema | None) -> bool:
    """Whether a tool changes something: by its hint, else by its name, else by its description.

    The description decides only of a name that holds no verb of change: it says what is read, and
    speaks of no change.
    """
    hint = read_only_hint(schema)
    if hint is not None:
        return not hint

    return effectful_by_name(tool) and not _described_as_reading(tool, schema)


def _described_as_reading(tool: str, schema: ToolSchema | None) -> bool:
    """Whether the verbs of a description are reading ones, where the name has none of its own."""
    named = _words(tool)
    if not named or named[0] in _CHANGING_VERBS | _OBJECTS.keys() | _PARTICLES.keys():
        return False

    function = (schema or {}).get("function", schema)
    told = function.get("description") if isinstance(function, dict) else None
    words = re.findall(r"[a-z]+", told.lower()) if isinstance(told, str) else []
    forms = {form for word in words for form in _stems(word)} - {named[0]}

    return bool(forms & _DESCRIBED) and not forms & (_CHANGING_VERBS - _DESCRIBED)


def _stems(word: str) -> set[str]:
    """retrieves -> retrieves, retriev, retrieve."""
    bare = _INFLECTED.sub("", word)
    return {word, bare, f"{bare}e", word.removesuffix("s")}
