"""What tells a number or a code that means something from one that only looks like it: check
digits, prefixes, groups.
"""

import re
from ipaddress import AddressValueError, IPv4Address

from synth.text.secrets.values.randomness import is_placeholder, is_wordlike

_RESERVED_DOMAINS = (
    ".example",
    ".test",
    ".invalid",
    ".localhost",
    "example.com",
    "example.org",
    "example.net",
)
"""RFC 2606 and 6761: addresses there are nobody's."""
_CARD_LENGTHS = range(13, 20)


def is_card(text: str) -> bool:
    """A card number: a network's prefix, its length, and Luhn's check digit (ISO/IEC 7812)."""
    digits = [int(char) for char in text if char.isdigit()]
    if len(digits) not in _CARD_LENGTHS or len(set(digits)) < 2:
        return False
    first, length = int("".join(map(str, digits[:4]))), len(digits)
    known = (
        (digits[0] == 4 and length in (13, 16, 19))
        or ((5100 <= first <= 5599 or 2221 <= first <= 2720) and length == 16)
        or (first // 100 in (34, 37) and length == 15)
        or (first // 100 in (36, 38) and length == 14)
        or ((first // 100 in (62, 65) or first == 6011) and length >= 16)
    )
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return known and (sum(doubled) + sum(digits[-1::-2])) % 10 == 0


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
    domain = text.rpartition("@")[2].casefold()
    return not any(
        domain == name.lstrip(".") or domain.endswith(name if name[0] == "." else f".{name}")
        for name in _RESERVED_DOMAINS
    )


def is_public_ip(text: str) -> bool:
    """An IPv4 address that is routed."""
    try:
        return IPv4Address(text).is_global
    except AddressValueError:
        return False


def is_four_groups(text: str) -> bool:
    """Four groups of four letters that are no words."""
    groups = re.split(r"[ -]", text)
    joined = "".join(groups)
    return not is_wordlike(joined) and len(set(groups)) == 4 and len(set(joined)) >= 7


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
    return 2 * mixed >= len(groups) and len(set(text)) >= 8 and not is_placeholder(text)


def is_key_bytes(text: str) -> bool:
    """64 numbers of a byte, as different as drawn ones: a pair of Ed25519's keys."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    return max(numbers) <= 255 and max(numbers) >= 200 and len(set(numbers)) >= 45
