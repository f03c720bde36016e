"""What an observation says differently each time without saying anything else: masked before observations are compared.

One place for all worlds: the defaults below, and what a world declares itself. Nothing that a task may ask for is masked by default:
plain numbers, dates, names and order numbers survive.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

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


@dataclass(frozen=True)
class Volatile:
    """`masked`: name -> pattern, replaced by its name. `generated`: name -> pattern of identifiers that the world makes up as it goes,
    numbered by their first appearance in a trial, so that equal references stay equal."""

    masked: Mapping[str, str] = field(default_factory=lambda: DEFAULTS)
    generated: Mapping[str, str] = field(default_factory=dict)


class Masking:
    """One trial's masking: generated identifiers keep their number from observation to observation."""

    def __init__(self, volatile: Volatile) -> None:
        self._masked = _compiled(tuple(volatile.masked.items()))
        self._generated = _compiled(tuple(volatile.generated.items()))
        self._numbers: dict[tuple[str, str], int] = {}

    def text(self, text: str) -> str:
        """The text with volatile spans replaced and white space collapsed."""
        for name, pattern in self._masked:
            text = pattern.sub(f"<{name}>", text)
        for name, pattern in self._generated:
            text = pattern.sub(lambda match, name=name: self._numbered(name, match.group()), text)  # type: ignore[misc]
        return " ".join(text.split())

    def _numbered(self, name: str, value: str) -> str:
        known = self._numbers.setdefault((name, value), len([key for key in self._numbers if key[0] == name]) + 1)
        return f"<{name} {known}>"


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[tuple[str, str], ...]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(pattern)) for name, pattern in patterns)


def learned(pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Patterns for the words in which texts differ that ought to be equal: (recorded, replayed) of the same turn.

    A word that differs is generalised to its shape (runs of digits, of letters of either case), with the word before it as context,
    so that no other number or name is masked. Texts that differ in more than their words (another count of them) teach nothing.
    """
    found: dict[str, None] = {}
    for recorded, replayed in pairs:
        one, other = recorded.split(), replayed.split()
        if len(one) != len(other):
            continue
        for index, (before, after) in enumerate(zip(one, other, strict=True)):
            if before != after and _shape(before) == _shape(after):
                context = rf"(?<={re.escape(one[index - 1])} )" if index and one[index - 1] == other[index - 1] else r"\A"
                found.setdefault(context + _shape(before))
    return tuple(found)


def _shape(word: str) -> str:
    """A pattern for words built like this one."""
    kinds = re.findall(r"\d+|[a-z]+|[A-Z]+|[^\dA-Za-z]", word)
    return "".join(
        r"\d+" if part[0].isdigit() else "[a-z]+" if part[0].islower() else "[A-Z]+" if part[0].isupper() else re.escape(part)
        for part in kinds
    )
