"""What an observation says differently each time without saying anything else: masked before
observations are compared.

One place for all worlds: the defaults below, and what a world declares itself. Nothing that a task
may ask for is masked by default:
plain numbers, dates, names and order numbers survive.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec

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


@dataclass(frozen=True)
class Volatile:
    """`masked`: name -> pattern, replaced by its name. `generated`: name -> pattern of identifiers
    that the world makes up as it goes,
    numbered by their first appearance in a trial, so that equal references stay equal.

    `fields`: tool -> places in its JSON answers, and `words`: tool -> patterns in its other
    answers, as replays taught them
    (`synth.topology.volatile_fields`).
    """

    masked: Mapping[str, str] = field(default_factory=lambda: DEFAULTS)
    generated: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, frozenset[str]] = field(default_factory=dict)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def without(value: Any, fields: Collection[str], at: str = "") -> Any:
    """A JSON value with what stands at some places replaced; a place is the keys on the way to it,
    `[]` for any entry of a list.
    """
    if at in fields and not isinstance(value, dict | list):
        return LEARNED
    if isinstance(value, dict):
        return {key: without(item, fields, f"{at}.{key}") for key, item in value.items()}
    return (
        [without(item, fields, f"{at}[]") for item in value] if isinstance(value, list) else value
    )


class Masking:
    """One trial's masking: generated identifiers keep their number from observation to
    observation.
    """

    def __init__(self, volatile: Volatile) -> None:
        self._patterns = _compiled(
            tuple(volatile.masked.items()), tuple(volatile.generated.items())
        )
        self._numbers: dict[str, dict[str, int]] = {}
        self._fields = volatile.fields
        self._words = volatile.words

    def answer(self, tool: str, text: str) -> str:
        """A tool's answer: its learned fields and words, then as any text; JSON with its keys
        sorted.
        """
        if text[:1] in ("{", "["):
            try:
                value = msgspec.json.decode(text)
            except (msgspec.DecodeError, RecursionError):
                return self.text(self._without_words(tool, text))
            fields = self._fields.get(tool)
            text = msgspec.json.encode(
                without(value, fields) if fields else value, order="deterministic"
            ).decode()
            return self.text(text)
        return self.text(self._without_words(tool, text))

    def _without_words(self, tool: str, text: str) -> str:
        for pattern in self._words.get(tool, ()):
            text = re.sub(pattern, LEARNED, text)
        return text

    def text(self, text: str) -> str:
        """The text with volatile spans replaced and white space collapsed."""
        if self._patterns.occur_in(text):
            for name, pattern in self._patterns.masked:
                text = pattern.sub(f"<{name}>", text)
            for name, pattern in self._patterns.generated:
                text = pattern.sub(
                    lambda match, name=name: self._numbered(name, match.group()),  # type: ignore[misc]
                    text,
                )
        return " ".join(text.split())

    def _numbered(self, name: str, value: str) -> str:
        known = self._numbers.setdefault(name, {})
        return f"<{name} {known.setdefault(value, len(known) + 1)}>"


Named = tuple[tuple[str, re.Pattern[str]], ...]


@dataclass(frozen=True)
class _Patterns:
    """Compiled; `together` searches in one pass for what every match of most of them holds, `apart`
    are the others.
    """

    masked: Named
    generated: Named
    together: PatternSet
    apart: Named

    def occur_in(self, text: str) -> bool:
        """Whether anything may have to be replaced: most texts have nothing, and are searched once
        instead of pattern by pattern.
        """
        return (
            not text.isascii()
            or bool(self.together.hits(text))
            or any(pattern.search(text) for _, pattern in self.apart)
        )


@lru_cache(maxsize=64)
def _compiled(
    masked: tuple[tuple[str, str], ...], generated: tuple[tuple[str, str], ...]
) -> _Patterns:
    together: dict[str, str] = {}
    apart: list[tuple[str, re.Pattern[str]]] = []
    for name, pattern in (*masked, *generated):
        signs = _SIGNS.get(pattern, pattern)
        try:
            PatternSet({name: signs})
        except ValueError:
            apart.append((name, re.compile(pattern)))
        else:
            together[f"{len(together)} {name}"] = signs
    found = [
        tuple((name, re.compile(pattern)) for name, pattern in part) for part in (masked, generated)
    ]
    return _Patterns(found[0], found[1], PatternSet(together), tuple(apart))
