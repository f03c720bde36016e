"""What an observation says differently each time without saying anything else: masked before
observations are compared.

One place for all environments: the defaults below, and what an environment declares itself. Nothing
that a task may ask for is masked by default: plain numbers, dates, names and order numbers survive.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import msgspec

from synth.text.json_values import json_in
from synth.text.pattern_set import PatternSet

DEFAULTS: Mapping[str, str] = {
    "instant": r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:?\d{2})?",
    "uuid": r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b",
    "digest": r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{32,128}\b",
    "address": r"\b0x[0-9a-f]{6,16}\b",
    "temporary": r"/tmp/[A-Za-z0-9_./-]+",
    "elapsed": r"\b\d+(?:\.\d+)?(?: ?(?:ms|milliseconds|µs)|(?<=\.\d) ?s(?:econds)?)\b",
    "process": r"(?<=\bpid[ =:])\s?\d+\b",
}
"""Name -> what is replaced by it. An instant is a time of the clock; a bare date is not."""
_SIGNS: Mapping[str, str] = {
    DEFAULTS["digest"]: r"[0-9a-f]{32}",
    DEFAULTS["elapsed"]: r"\d ?(?:ms|milliseconds|\xb5s|s)",
    DEFAULTS["process"]: r"pid[ =:]",
}
"""Of the defaults that look around themselves: what stands in every match, for the search in one
pass.
"""

LEARNED = "<learned>"
"""What stands in the place of a learned field or word."""


@dataclass(frozen=True)
class Nondeterminism:
    """`masked`: name -> pattern, replaced by its name. `generated`: name -> pattern of identifiers
    that the environment makes up as it goes, numbered by their first appearance in a trial, so that
    equal references stay equal.

    `fields`: tool -> places in its JSON answers, and `words`: tool -> patterns in its other
    answers, as replays taught them (`synth.topology.nondeterminism.fields`).
    """

    masked: Mapping[str, str] = field(default_factory=lambda: DEFAULTS)
    generated: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, frozenset[str]] = field(default_factory=dict)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def without(value: Any, fields: Collection[str], at: str = "") -> Any:
    """A JSON value with what stands at some places replaced; a place is the keys on the way to it,
    `[]` for any entry of a list.
    """
    if isinstance(value, dict):
        return {key: without(item, fields, f"{at}.{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [without(item, fields, f"{at}[]") for item in value]

    return LEARNED if at in fields else value


class Masking:
    """One trial's masking: generated identifiers keep their number from observation to
    observation, so a masking must see the observations in their order.
    """

    def __init__(self, spans: Nondeterminism) -> None:
        self._spans = spans
        self._masked = _compiled(tuple(spans.masked.items()))
        self._generated = _compiled(tuple(spans.generated.items()))
        self._numbers: dict[str, dict[str, int]] = {}

    def answer(self, tool: str, text: str) -> str:
        """A tool's answer: its learned fields or words, then as any text; JSON with its keys
        sorted.
        """
        value = json_in(text)
        if value is not None:
            fields = self._spans.fields.get(tool)
            value = without(value, fields) if fields else value
            return self.text(msgspec.json.encode(value, order="deterministic").decode())

        for pattern in self._spans.words.get(tool, ()):
            text = re.sub(pattern, LEARNED, text)

        return self.text(text)

    def text(self, text: str) -> str:
        """The text with nondeterministic spans replaced and white space collapsed."""
        if self._masked.occur_in(text) or self._generated.occur_in(text):
            # masks first: an identifier that is no more than a part of one is gone then
            for name, pattern in self._masked.patterns.items():
                text = pattern.sub(f"<{name}>", text)
            for name, pattern in self._generated.patterns.items():
                text = pattern.sub(partial(self._numbered, name), text)

        return " ".join(text.split())

    def _numbered(self, name: str, found: re.Match[str]) -> str:
        """An identifier by the number of its first appearance in this trial."""
        known = self._numbers.setdefault(name, {})
        return f"<{name} {known.setdefault(found[0], len(known) + 1)}>"


@dataclass(frozen=True)
class _Patterns:
    """Compiled by name, in their order.

    `together` searches in one pass for what every match of most of them holds, `apart` are those
    that one pass cannot search.
    """

    patterns: Mapping[str, re.Pattern[str]]
    together: PatternSet
    apart: tuple[re.Pattern[str], ...]

    def occur_in(self, text: str) -> bool:
        """Whether anything may have to be replaced: most texts have nothing, and are searched once
        instead of pattern by pattern.
        """
        if not self.patterns:
            return False
        found = not text.isascii() or bool(self.together.hits(text))
        return found or any(pattern.search(text) for pattern in self.apart)


@lru_cache(maxsize=64)
def _compiled(named: tuple[tuple[str, str], ...]) -> _Patterns:
    """Patterns that RE2 can search together are; the rest (look-around) are searched one by one.

    Of each environment's settings once: trials are masked by the thousand.
    """
    patterns = {name: re.compile(pattern) for name, pattern in named}
    together: dict[str, str] = {}
    apart = []

    for name, pattern in named:
        signs = _SIGNS.get(pattern, pattern)
        try:
            PatternSet({name: signs})
        except ValueError:
            apart.append(patterns[name])
        else:
            together[name] = signs

    return _Patterns(patterns, PatternSet(together), tuple(apart))
