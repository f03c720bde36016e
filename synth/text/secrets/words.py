"""The letters of a text: words of the data files, kinds of characters, and the look of words."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from math import log2
from typing import Literal

from synth.text.data_files import read

Sign = Literal["upper", "lower", "letter", "digit"]
_SIGNS: Mapping[Sign, Callable[[str], bool]] = {
    "upper": str.isupper,
    "lower": str.islower,
    "letter": str.isalpha,
    "digit": str.isdigit,
}
_RUNS = re.compile(r"[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]+")
_CHUNKS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@cache
def listed(name: str) -> frozenset[str]:
    """The words of a list of words.yaml."""
    return frozenset(read("text/secrets/data/words.yaml", dict[str, str])[name].split())


def filled(pattern: str, parts: Mapping[str, str]) -> str:
    """A pattern with the part of a name in the place of each `<NAME>`; parts may hold others."""
    return re.sub(
        "<([A-Za-z_]+)>",
        lambda name: filled(parts[name[1]], parts) if name[1] in parts else name[0],
        pattern,
    )


@cache
def compiled(pattern: str) -> "re.Pattern[str]":
    """A pattern of the data files, compiled once."""
    return re.compile(pattern)


def has(text: str, *signs: Sign) -> bool:
    """Whether each of some kinds of characters stands in a text."""
    return all(any(map(_SIGNS[sign], text)) for sign in signs)


def bits(text: str) -> float:
    """Shannon's entropy of the characters of a text, per character."""
    counts = Counter(text).values()
    return -sum(n / len(text) * log2(n / len(text)) for n in counts)


def changes(text: str) -> float:
    """Runs of characters of one kind, per character."""
    return len(_RUNS.findall(text)) / len(text)


@cache
def _common_pairs() -> frozenset[str]:
    """Pairs of letters that stand in words."""
    return frozenset(pairs[0] + second for pairs in listed("letter_pairs") for second in pairs[2:])


@lru_cache(maxsize=4096)
def is_wordlike(text: str) -> bool:
    """Whether the letters of a text follow each other as in words, with few digits among them.

    Names, phrases and paths do; what was drawn at random does not.
    """
    digits = sum(map(str.isdigit, text))
    runs = re.findall("[a-z]+", text.casefold())
    pairs = [run[at : at + 2] for run in runs for at in range(len(run) - 1)]
    if len(pairs) < 3:
        return digits <= 2 and len(text) < 12

    common = sum(pair in _common_pairs() for pair in pairs) / len(pairs)
    if common < 0.7:
        return False

    # capitals stand where words begin: random letters of both cases make words of two letters
    chunks = _CHUNKS.findall(text)
    numbers = [len(chunk) for chunk in chunks if chunk.isdigit()]
    words = [len(chunk) for chunk in chunks if not chunk.isdigit()]
    cased = sum(words) >= 3.5 * len(words)
    if not digits:
        return common >= 0.8 or cased

    few = len(numbers) <= 3 and sum(numbers) <= max(2, len(text) // 5)

    return few and cased and max(words, default=0) >= 4
