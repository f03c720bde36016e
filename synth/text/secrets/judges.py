"""Tests of a value by itself: those of judges.yaml, and the telling of drawn strings from words."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from math import inf, log2
from typing import Union

import msgspec

from synth.text.data_files import read
from synth.text.secrets.checks import CHECKS, Test
from synth.text.secrets.words import Sign, bits, changes, compiled, has, is_wordlike, listed


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many words a text has, and how many of them may be of some lists."""

    like: str
    of: str = ""
    known: int = 0
    least: int = 0
    most: float = inf

    def __call__(self, text: str) -> bool:
        said = re.findall(self.like, text.casefold())
        known = set(said) & {word for name in self.of.split() for word in listed(name)}
        return self.least <= len(said) <= self.most and len(known) <= self.known


class Judge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One test of judges.yaml, which says what its fields mean."""

    drop: str | None = None
    shortest: int = 0
    longest: float = inf
    distinct: int = 0
    has: tuple[Sign, ...] = ()
    lacks: tuple[Sign, ...] = ()
    listed: str | None = None
    contains: tuple[str, ...] = ()
    without: str | None = None
    like: str | None = None
    unlike: str | None = None
    words: Words | None = None
    most_digits: float = 1
    changes: float = 0
    random: int = 0
    bits: float = 0
    pieces: str | None = None
    none: tuple[Union[str, "Judge"], ...] = ()
    all: tuple[Union[str, "Judge"], ...] = ()
    any: tuple[Union[str, "Judge"], ...] = ()

    def __call__(self, text: str) -> bool:
        if self.drop is not None:
            text = compiled(self.drop).sub("", text)

        return self._looks_right(text) and self._passes_others(text)

    def _looks_right(self, text: str) -> bool:
        """The questions about its characters; those that cost little come first."""
        return (
            self.shortest <= len(text) <= self.longest
            and len(set(text)) >= self.distinct
            and has(text, *self.has)
            and not any(has(text, sign) for sign in self.lacks)
            and (self.listed is None or text.casefold() in listed(self.listed))
            and all(compiled(pattern).search(text) for pattern in self.contains)
            and (self.without is None or not compiled(self.without).search(text))
            and (self.like is None or compiled(self.like).fullmatch(text) is not None)
            and (self.unlike is None or not compiled(self.unlike).fullmatch(text))
            and (self.words is None or self.words(text))
            and sum(map(str.isdigit, text)) <= self.most_digits * len(text)
            and (not self.changes or changes(text) >= self.changes)
            and (not self.random or is_random(text, self.random))
            and (not self.bits or bits(text) >= self.bits)
        )

    def _passes_others(self, text: str) -> bool:
        """The tests that it names or holds."""
        pieces = [text] if self.pieces is None else compiled(self.pieces).findall(text)
        return (
            not any(_named(part)(text) for part in self.none)
            and all(_named(part)(text) for part in self.all)
            and (not self.any or any(_named(part)(one) for one in pieces for part in self.any))
        )


def _named(part: str | Judge) -> Test:
    """A test, by its name where it is one of the file."""
    return judge(part) if isinstance(part, str) else part


@cache
def judge(name: str) -> Test:
    """The test of a name. Raises `ValueError` where there is none."""
    coded: Mapping[str, Test] = {
        "random": is_random,
        "key_material": is_key_material,
        "wordlike": is_wordlike,
        **CHECKS,
    }
    if name in coded:
        return coded[name]

    known = read("text/secrets/data/judges.yaml", dict[str, Judge])

    if name not in known:
        raise ValueError(
            f"{name!r} is no test of a value; known: {', '.join(sorted({*coded, *known}))}"
        )

    test: Test = lru_cache(maxsize=4096)(known[name])

    return test


@lru_cache(maxsize=4096)
def is_random(text: str, least: int = 8) -> bool:
    """Whether a text of `least` characters or more was probably drawn at random.

    Then its characters are mixed, and it is no row of words, date, path or address.
    """
    if len(text) < least or judge("placeholder")(text) or judge("ordinary")(text):
        return False

    mixed = bits(text) >= min(2.8, log2(len(text)) * 0.72) and has(text, "letter")

    return mixed and not is_wordlike(text)


def is_key_material(token: str) -> bool:
    """Whether alphabet, length and order of characters are those of a key.

    Names, digests, paths and dates have others.
    """
    body = token.rstrip("=")
    if len(body) < 20 or judge("digest")(body) or token.count(".") > 4:
        return False

    if len(token) % 4 == 0 and body.count("/") <= 1 + len(body) // 14 and judge("base64")(token):
        return True

    parts = re.findall("[A-Za-z0-9]+", body)
    drawn = [part for part in parts if judge("drawn_strictly")(part)]
    length = sum(map(len, drawn))
    if "/" in body or length < 0.5 * sum(map(len, parts)):
        return False

    if length >= (20 if any(map(str.isupper, drawn)) else 24):
        return True

    return len(parts) > 1 and length >= 16 and has(drawn[0], "lower", "upper", "digit")
