"""Tests of a value by itself: those of judges.yaml, and the few that need code."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, Union

import msgspec

from synth.text.secrets import checksums
from synth.text.secrets.values import credentials, randomness, unnamed

Test = Callable[[str], bool]
Sign = Literal["upper", "lower", "letter", "digit"]
_SIGNS: Mapping[Sign, Test] = {
    "upper": str.isupper,
    "lower": str.islower,
    "letter": str.isalpha,
    "digit": str.isdigit,
}
_CODED: Mapping[str, Test] = {
    "address": checksums.is_address,
    "card": checksums.is_card,
    "chosen": credentials.is_chosen,
    "code_of_groups": checksums.is_code_of_groups,
    "digest": randomness.is_digest,
    "drawn_strictly": unnamed.is_drawn,
    "drawn_words": credentials.is_drawn_words,
    "encoded": credentials.is_encoded_login,
    "four_groups": checksums.is_four_groups,
    "given": credentials.is_given,
    "given_words": credentials.is_given_words,
    "grouped": checksums.is_grouped_key,
    "iban": checksums.is_iban,
    "key_bytes": checksums.is_key_bytes,
    "mixed_password": credentials.is_mixed_password,
    "nothing": credentials.is_nothing,
    "password": credentials.is_password,
    "phone": checksums.is_phone,
    "phrase": credentials.is_phrase,
    "placeholder": randomness.is_placeholder,
    "public_ip": checksums.is_public_ip,
    "random": randomness.is_random,
    "social_security_number": checksums.is_social_security_number,
    "user_and_password": credentials.is_user_and_password,
    "wordlike": randomness.is_wordlike,
    "words": credentials.is_seed_phrase,
}


class Judge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One test of judges.yaml, which says what its fields mean."""

    drop: str | None = None
    shortest: int = 0
    longest: int | None = None
    has: tuple[Sign, ...] = ()
    lacks: tuple[Sign, ...] = ()
    distinct: int = 0
    bits: float = 0
    contains: tuple[str, ...] = ()
    without: str | None = None
    like: str | None = None
    unlike: str | None = None
    random: int = 0
    all: tuple[Union[str, "Judge"], ...] = ()
    any: tuple[Union[str, "Judge"], ...] = ()
    none: tuple[Union[str, "Judge"], ...] = ()


@cache
def judge(name: str) -> Test:
    """The test of a name. Raises `ValueError` where there is none."""
    if name in _CODED:
        return _CODED[name]
    if name not in (known := _table()):
        raise ValueError(f"{name!r} is no test of a value; known: {', '.join([*_CODED, *known])}")
    return _compiled(known[name])


@cache
def _table() -> Mapping[str, Judge]:
    text = (files("synth.text.secrets.values") / "judges.yaml").read_bytes()
    return msgspec.yaml.decode(text, type=dict[str, Judge])


def _compiled(one: Judge) -> Test:
    """One function of all that a test asks, what costs little first."""
    has, lacks = ([_SIGNS[sign] for sign in signs] for signs in (one.has, one.lacks))
    contains = [_pattern(pattern) for pattern in one.contains]
    without, like, unlike = map(
        _pattern, (one.without or r"(?!)", one.like or r"(?s:.*)", one.unlike or r"(?!)")
    )
    drop = None if one.drop is None else re.compile(one.drop)
    every, some, never = (
        [_named(part) for part in parts] for parts in (one.all, one.any, one.none)
    )

    def test(text: str) -> bool:
        bare = text if drop is None else drop.sub("", text)
        return (
            len(bare) >= one.shortest
            and (one.longest is None or len(bare) <= one.longest)
            and len(set(bare)) >= one.distinct
            and all(any(map(sign, bare)) for sign in has)
            and not any(any(map(sign, bare)) for sign in lacks)
            and all(pattern.search(bare) for pattern in contains)
            and without.search(bare) is None
            and like.fullmatch(bare) is not None
            and unlike.fullmatch(bare) is None
            and (not one.random or randomness.is_random(bare, one.random))
            and (not one.bits or randomness.bits(bare) >= one.bits)
            and not any(part(bare) for part in never)
            and all(part(bare) for part in every)
            and (not some or any(part(bare) for part in some))
        )

    return test


def _named(part: str | Judge) -> Test:
    return judge(part) if isinstance(part, str) else _compiled(part)


def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
