"""Tests of a value that need arithmetic or decoding: check digits, numbers of bytes, base64."""

import base64
import re
from collections.abc import Callable, Mapping
from ipaddress import AddressValueError, IPv4Address

Test = Callable[[str], bool]


def luhn(text: str) -> bool:
    """Whether the last digit is Luhn's check digit of the others (ISO/IEC 7812)."""
    digits = [int(char) for char in text]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]

    return (sum(doubled) + sum(digits[-1::-2])) % 10 == 0


def iban_digits(text: str) -> bool:
    """Whether the check digits of an account number are right (ISO 13616)."""
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1


def public_ip(text: str) -> bool:
    """Whether a text is an IPv4 address that is routed."""
    try:
        return IPv4Address(text).is_global
    except AddressValueError:
        return False


def grouped_key(text: str) -> bool:
    """Whether most groups of a key mix capitals and digits."""
    mixed = re.findall(r"(?<![^-])(?=[^-]*\d)(?=[^-]*[^\W\d_])[^-]+", text)
    return 2 * len(mixed) >= text.count("-") + 1 and len(set(text)) >= 8


def key_bytes(text: str) -> bool:
    """Whether numbers of a byte are as different as drawn ones: a pair of Ed25519's keys."""
    numbers = {int(number) for number in re.findall(r"\d+", text)}
    return 200 <= max(numbers) <= 255 and len(numbers) >= 45


def user_and_password(text: str) -> bool:
    """Whether base64 says `user:password`."""
    plain = _decoded(text)
    return plain.isprintable() and ":" in plain


def encoded(text: str) -> bool:
    """Whether base64 says what a mail client logs in with: parts with zero bytes between them."""
    plain = _decoded(text)
    return len(plain) >= 6 and plain.replace("\0", "").replace("\1", "").isprintable()


def _decoded(text: str) -> str:
    """What base64 says, "" where it says no text."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
    except ValueError:
        return ""


CHECKS: Mapping[str, Test] = {
    check.__name__: check
    for check in (luhn, iban_digits, public_ip, grouped_key, key_bytes, user_and_password, encoded)
}
"""The tests by the names that judges.yaml and the rules call them by."""
