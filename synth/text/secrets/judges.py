"""Tests of a value by itself: those of judges.yaml, and the few that need code; drawn strings told
from words.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, partial
from math import inf, log2
from typing import Any, Union

import msgspec

from synth.text.secrets import values
from synth.text.secrets.values import Sign, Test, bits, changes, has, is_wordlike, listed, read


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many words a text has, and how many of them may be of some lists."""

    like: str
    of: str = ""
    known: int = 0
    least: int = 0
    most: float = inf

    def holds(self, text: str) -> bool:
        """Of a text."""
        said = re.findall(self.like, text.casefold())
        known = set(said) & {word for name in self.of.split() for word in listed(name)}
        return self.least <= len(said) <= self.most and len(known) <= self.known


class Judge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One test of judges.yaml, which says what its fields mean."""

    drop: str | None = None
    shortest: int = 0
    longest: float = inf
    has: tuple[Sign, ...] = ()
    lacks: tuple[Sign, ...] = ()
    distinct: int = 0
    listed: str | None = None
    contains: tuple[str, ...] = ()
    without: str | None = None
    like: str | None = None
    unlike: str | None = None
    words: Words | None = None
    most_digits: float = 1
    changes: float = 0
    bits: float = 0
    random: int = 0
    pieces: str | None = None
    all: tuple[Union[str, "Judge"], ...] = ()
    any: tuple[Union[str, "Judge"], ...] = ()
    none: tuple[Union[str, "Judge"], ...] = ()

    def test(self) -> Test:
        """One function of all that it asks."""
        drop = re.compile(self.drop) if self.drop is not None else None
        asked = list(self._asked())

        @lru_cache(maxsize=4096)
        def test(text: str) -> bool:
            bare = text if drop is None else drop.sub("", text)
            return all(bool(one(bare)) is wanted for one, wanted in asked)

        return test

    def _asked(self) -> Iterator[tuple[Callable[[str], Any], bool]]:
        """Each question with the answer that it must have; what costs little comes first."""
        if self.shortest or self.distinct or self.longest < inf:
            yield (
                lambda text: (
                    self.shortest <= len(text) <= self.longest and len(set(text)) >= self.distinct
                ),
                True,
            )
        yield from ((partial(_has, sign), True) for sign in self.has)
        yield from ((partial(_has, sign), False) for sign in self.lacks)
        if self.listed is not None:
            yield (lambda text: text.casefold() in listed(str(self.listed))), True
        yield from ((re.compile(pattern).search, True) for pattern in self.contains)
        if self.without is not None:
            yield re.compile(self.without).search, False
        if self.like is not None:
            yield re.compile(self.like).fullmatch, True
        if self.unlike is not None:
            yield re.compile(self.unlike).fullmatch, False
        if self.words is not None:
            yield self.words.holds, True
        if self.most_digits < 1 or self.changes:
            yield (
                lambda text: (
                    sum(map(str.isdigit, text)) <= self.most_digits * len(text)
                    and changes(text) >= self.changes
                ),
                True,
            )
        if self.random:
            yield (lambda text: is_random(text, self.random)), True
        if self.bits:
            yield (lambda text: bits(text) >= self.bits), True
        yield from ((_named(part), False) for part in self.none)
        yield from ((_named(part), True) for part in self.all)
        some = [_named(part) for part in self.any]
        pieces = re.compile(self.pieces or r"(?s).*")
        if self.pieces is not None:
            yield (lambda text: any(map(some[0], pieces.findall(text)))), True
        elif some:
            yield (lambda text: any(part(text) for part in some)), True


def _has(sign: Sign, text: str) -> bool:
    return has(text, sign)


def _named(part: str | Judge) -> Test:
    return judge(part) if isinstance(part, str) else part.test()


@cache
def judge(name: str) -> Test:
    """The test of a name. Raises `ValueError` where there is none."""
    coded: dict[str, Test] = {"random": is_random, "key_material": is_key_material, **values.TESTS}
    if name in coded:
        return coded[name]
    known = read("judges.yaml", dict[str, Judge])
    if name not in known:
        raise ValueError(
            f"{name!r} is no test of a value; known: {', '.join(sorted({*coded, *known}))}"
        )
    test: Test = known[name].test()
    return test


@lru_cache(maxsize=4096)
def is_random(text: str, least: int = 8) -> bool:
    """Whether a text of `least` characters or more was probably drawn: mixed characters, not words,
    not a date, a path, an address.
    """
    if len(text) < least or judge("placeholder")(text) or judge("ordinary")(text):
        return False
    drawn = bits(text) >= min(2.8, log2(len(text)) * 0.72) and has(text, "letter")
    return drawn and not is_wordlike(text)


def is_key_material(token: str) -> bool:
    """Whether the alphabet, the length and the order of characters are those of a key, and of no
    name, digest, path or date.
    """
    body = token.rstrip("=")
    if len(body) < 20 or judge("digest")(body) or token.count(".") > 4:
        return False
    if _is_base64(token, body):
        return True
    parts = re.findall(r"[A-Za-z0-9]+", body)
    drawn = [part for part in parts if judge("drawn_strictly")(part)]
    length = sum(map(len, drawn))
    if "/" in body or length < 0.5 * sum(map(len, parts)):
        return False
    return length >= (20 if any(map(str.isupper, drawn)) else 24) or (
        len(parts) > 1 and length >= 16 and has(drawn[0], "lower", "upper", "digit")
    )


def _is_base64(token: str, body: str) -> bool:
    """16 bytes or more in base64 with its padding, or with its two signs among drawn letters."""
    if re.search(r"[.~]|\A/", body) or body.count("/") > 1 + len(body) // 14 or len(token) % 4:
        return False
    padded = token != body and len(body) >= 22
    signs = re.search("[+/]", body) is not None and len(body) >= 32
    return (
        (padded or signs)
        and has(body, "lower", "upper", "digit")
        and changes(body) >= 0.42
        and bits(body) >= 3.8
        and not is_wordlike(body)
    )
