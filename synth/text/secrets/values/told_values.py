"""Judges links, codes, PINs, and what people and programs tell each other: values of
told_secrets.yaml.
"""

import re

from synth.text.secrets.values.credentials import (
    FUNCTION_WORDS,
    NOTHING,
    is_mixed_password,
    is_phrase,
    is_shown_value,
    is_signed_key,
    is_told_password,
)
from synth.text.secrets.values.randomness import (
    bits,
    is_digest,
    is_placeholder,
    is_random,
    is_wordlike,
    words,
)
from synth.text.secrets.values.unnamed import is_drawn


def is_link_key(text: str) -> bool:
    """The part of a link that nobody can guess: drawn, or a digest of 160 bits or more."""
    bare = text.strip(".-~%")
    if is_placeholder(bare) or len(bare) > 300:
        return False
    return re.fullmatch(r"(?i)[0-9a-f]{40,128}", bare) is not None or (
        is_random(bare, 20)
        and (any(map(str.isdigit, bare)) or is_drawn(bare))
        and not is_digest(bare)
        and bits(bare) >= 3.6
        and bare.count("-") + bare.count("_") <= 5
        and (re.search(r"[a-z]\d|\d[a-z]", bare, re.IGNORECASE) is not None or is_drawn(bare))
        and re.fullmatch(r"[\w-]*\.[a-z]{2,5}", bare) is None
    )


def is_passed(text: str) -> bool:
    """What stands after `pass:`: mixed, or letters as no word has them."""
    bare = text.rstrip(".,;:)`]}")
    drawn = any(map(str.isdigit, bare)) or any(sign in bare for sign in "!@#$%^&*+~")
    return (drawn and is_mixed_password(bare)) or (
        bare.isalpha() and len(bare) >= 8 and is_random(bare)
    )


def is_typed_password(text: str) -> bool:
    """A password where a user's name is due: a capital, a digit and a sign, as names of users do
    not have together.
    """
    signed = re.search(r"[^\w.@-]", text) is not None
    return (
        signed
        and any(map(str.isdigit, text))
        and any(map(str.isupper, text))
        and is_told_password(text)
    )


def is_printed_key(text: str) -> bool:
    """What a program prints when it is asked for a secret of its settings."""
    return is_shown_value(text) or is_signed_key(text) or is_password_of_signs(text)


def is_password_of_signs(text: str) -> bool:
    """A password that no name and no expression could be."""
    return is_told_password(text) and re.search(r"[!@#$%^&*+~?]", text) is not None


def is_drawn_words(text: str) -> bool:
    """Words without grammar: none that holds a sentence together, none of passwords themselves."""
    said = re.findall(r"[a-z]+", text.casefold())
    return (
        3 <= len(said) <= 12
        and is_phrase(" ".join(said))
        and not set(said) & (FUNCTION_WORDS | NOTHING | _SPOKEN_OF)
    )


_SPOKEN_OF = words(
    "protected too short long weak strong characters letters numbers special symbols case "
    "sensitive upper lower least minimum required "
    "incorrect again failed success successfully stored saved updated changed expired days policy "
    "see below above attached separate "
    "message email channel manager vault ask later soon later send sent tell told know don t s i "
    "you we they he she it me us them then "
    "now here there today tomorrow please thanks ok okay what where how why who which good great "
    "sure"
)


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


def is_six_digits(text: str) -> bool:
    """A code that was drawn: no counting, no date of a month."""
    digits = re.sub(r"\D", "", text)
    return len(set(digits)) >= 3 and digits not in ("123456", "654321", "123123")


def is_chosen_pin(text: str) -> bool:
    """A PIN, and no count, year, port or placeholder."""
    return (
        len(set(text)) >= 2
        and text not in ("1234", "12345", "123456", "0000")
        and re.fullmatch(r"(?:19|20)\d\d", text) is None
    )


def is_beside_user(text: str) -> bool:
    """A password after a user and a slash: letters, digits, and a capital, a hyphen or a sign among
    them.
    """
    return (
        is_told_password(text)
        and any(map(str.isdigit, text))
        and re.search(r"[A-Z]|[^\w.]", text) is not None
    )


def is_stored_value(text: str) -> bool:
    """What a store gives for a key that says secret: a digest, something drawn, or a code of
    digits.
    """
    return is_shown_value(text) or is_random(text, 12) or (text.isdigit() and 4 <= len(text) <= 8)


def is_nine_digits(text: str) -> bool:
    """A social security number without hyphens; the areas 000, 666 and from 900 on were never given
    out.
    """
    return (
        text[:3] not in ("000", "666")
        and text[0] != "9"
        and text[3:5] != "00"
        and text[5:] != "0000"
        and len(set(text)) >= 4
    )


def is_key_bytes(text: str) -> bool:
    """64 numbers of a byte, as different as drawn ones: a pair of Ed25519's keys."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    return max(numbers) <= 255 and max(numbers) >= 200 and len(set(numbers)) >= 45


def is_drawn_code(text: str) -> bool:
    """A code of letters and digits that is no word, no name and no number."""
    return (
        any(map(str.isdigit, text))
        and any(map(str.isalpha, text))
        and not is_wordlike(text)
        and len(set(text)) >= 5
    )


def is_capitals(text: str) -> bool:
    """A code in capitals that is no word: with a digit, a hyphen, or too few vowels."""
    return (
        not any(map(str.islower, text))
        and ("-" in text or any(map(str.isdigit, text)))
        and any(map(str.isalpha, text))
    )
