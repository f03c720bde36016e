"""What tells a value that means something from one that only looks like it: check digits, prefixes,
groups, the letters of words, the disorder of what was drawn.
"""

import base64
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from ipaddress import AddressValueError, IPv4Address
from math import log2
from typing import Literal, TypeVar

import msgspec

Decoded = TypeVar("Decoded")
Test = Callable[[str], bool]
Sign = Literal["upper", "lower", "letter", "digit"]
_SIGNS: Mapping[Sign, Test] = {
    "upper": str.isupper,
    "lower": str.islower,
    "letter": str.isalpha,
    "digit": str.isdigit,
}
_RUNS = re.compile(r"[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]+")
_LETTERS = re.compile(r"[a-z]+")
_CHUNKS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_RESERVED = re.compile(r"(?:.*\.)?(?:example(?:\.com|\.org|\.net)?|test|invalid|localhost)")
"""Domains of RFC 2606 and 6761: addresses there are nobody's."""
_CARDS = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"
    r"|3[47]\d{13}|3[68]\d{12}|(?:6[25]\d\d|6011)\d{12,15}",
    re.ASCII,
)
"""Prefixes of networks, with the lengths of their numbers."""


def is_card(text: str) -> bool:
    """A card number: a network's prefix, its length, and Luhn's check digit (ISO/IEC 7812)."""
    number = "".join(filter(str.isdigit, text))
    if not _CARDS.fullmatch(number) or len(set(number)) < 2:
        return False
    digits = [int(char) for char in number]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(doubled) + sum(digits[-1::-2])) % 10 == 0


def is_iban(text: str) -> bool:
    """An account number: 15 to 34 characters with the right check digits (ISO 13616)."""
    plain = text.replace(" ", "")
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1


def is_social_security_number(text: str) -> bool:
    """A US number in a range that is given out."""
    area, group, serial = text.replace(" ", "-").split("-")
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def is_phone(text: str) -> bool:
    """8 to 15 digits (E.164), and none of the US numbers that are kept for fiction (555)."""
    digits = "".join(char for char in text if char.isdigit())
    if not 8 <= len(digits) <= 15 or len(set(digits)) < 3:
        return False
    national = digits[-10:]
    american = not text.lstrip().startswith("+") or (digits.startswith("1") and len(digits) == 11)
    return not american or (
        national[0] in "23456789"
        and national[3] in "23456789"
        and "555" not in (national[:3], national[3:6])
    )


def is_address(text: str) -> bool:
    """A mail address under a domain that somebody may own."""
    return _RESERVED.fullmatch(text.rpartition("@")[2].casefold()) is None


def is_public_ip(text: str) -> bool:
    """An IPv4 address that is routed."""
    try:
        return IPv4Address(text).is_global
    except AddressValueError:
        return False


def is_code_of_groups(text: str) -> bool:
    """A code of groups: digits among the letters, or digits alone, and no date and no telephone
    number.
    """
    groups = text.split("-")
    digits = any(map(str.isdigit, text))
    return (
        digits
        and len({len(group) for group in groups}) == 1
        and len(set(text)) >= 5
        and re.fullmatch(r"(?:19|20)\d\d-\d{4}", text) is None
    )


def is_grouped_key(text: str) -> bool:
    """Groups of capitals and digits, mixed in most of them."""
    groups = text.split("-")
    mixed = sum(any(map(str.isdigit, group)) and any(map(str.isalpha, group)) for group in groups)
    return 2 * mixed >= len(groups) and len(set(text)) >= 8


def is_key_bytes(text: str) -> bool:
    """64 numbers of a byte, as different as drawn ones: a pair of Ed25519's keys."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    return max(numbers) <= 255 and max(numbers) >= 200 and len(set(numbers)) >= 45


def is_user_and_password(text: str) -> bool:
    """Base64 of `user:password`."""
    plain = _decoded(text)
    return plain.isprintable() and ":" in plain


def is_encoded(text: str) -> bool:
    """Base64 of what a mail client sends to log in: text, perhaps with zero bytes between its
    parts.
    """
    plain = _decoded(text)
    return plain.replace("\0", "").replace("\1", "").isprintable() and len(plain) >= 6


def _decoded(text: str) -> str:
    """What base64 says; nothing where it is none."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
    except ValueError:
        return ""


@cache
def read(name: str, kind: type[Decoded]) -> Decoded:
    """A file of the folder `data`."""
    text = (files("synth.text.secrets") / "data" / name).read_bytes()
    return msgspec.yaml.decode(text, type=kind)


@cache
def listed(name: str) -> frozenset[str]:
    """The words of a list of words.yaml."""
    return frozenset(read("words.yaml", dict[str, str])[name].split())


def has(text: str, *signs: Sign) -> bool:
    """Whether each of some kinds of characters stands in a text."""
    return all(any(map(_SIGNS[sign], text)) for sign in signs)


def bits(text: str) -> float:
    """Shannon's entropy of the characters of a text, per character."""
    counts = Counter(text)
    return -sum(n / len(text) * log2(n / len(text)) for n in counts.values())


def changes(text: str) -> float:
    """Runs of characters of a kind, per character."""
    return len(_RUNS.findall(text)) / len(text)


@cache
def _pairs() -> frozenset[str]:
    return frozenset(pairs[0] + second for pairs in listed("letter_pairs") for second in pairs[2:])


@lru_cache(maxsize=4096)
def is_wordlike(text: str) -> bool:
    """Whether the letters of a text follow each other as in words, with few digits among them: a
    name, a phrase, a path.
    """
    runs = _LETTERS.findall(text.casefold())
    pairs = [run[at : at + 2] for run in runs for at in range(len(run) - 1)]
    digits = sum(char.isdigit() for char in text)
    if len(pairs) < 3:
        return digits <= 2 and len(text) < 12
    common = sum(pair in _pairs() for pair in pairs) / len(pairs)
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
    return few and max(words, default=0) >= 4 and cased


TESTS: Mapping[str, Test] = {
    name.removeprefix("is_"): test for name, test in [*globals().items()] if name.startswith("is_")
}
