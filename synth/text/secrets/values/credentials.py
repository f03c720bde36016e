"""Judges what stands where a password, a cookie or a key is given: the secret itself, or a word, a
variable, a blank.
"""

import base64
import re
from collections.abc import Callable
from functools import lru_cache

from synth.text.secrets.values.randomness import (
    bits,
    is_digest,
    is_placeholder,
    is_random,
    is_wordlike,
    words,
)

FUNCTION_WORDS = words(
    "the a an is are be must should your you my of or and not for to please enter at least in on "
    "with "
    "this that it has have was can will if when reset forgot change forgotten new confirm contain "
    "contains using use from by cannot does did"
)
"""Words of sentences about passwords; passphrases are drawn from nouns, verbs and adjectives."""
NOTHING = words(
    "password passwd pass pwd passphrase passcode secret token string str text hidden none null "
    "nil "
    "true false yes no required optional default value empty user username login admin root email "
    "name type field input number int integer bool boolean bytes object any undefined unset "
    "missing "
    "invalid incorrect wrong valid correct unknown auto prompt stdin file env config show hide "
    "asked "
    "ask key keys self this args kwargs data result response request settings option options flag "
    "argument param parameter example sample foo bar baz foobar test testing changeme postgres "
    "public "
    "private basic bearer sensitive auth authentication protected encrypted hashed plain char "
    "varchar "
    "std const let var func function return returns lambda import and or is to for with from if "
    "in on "
    "the a an as by not len hash salt getpass passw0rd randomly generated given provided stored "
    "used "
    "needed it be was has that which len utf8 utf"
)
_SECRET_WORDS = re.compile(
    r"(?i)pass(?:word|wd|phrase|code)|pwd|secret|token|credential|passwort|api_?key"
)
_EXPRESSION = re.compile(
    r"""(?x) [\w.\]]+\( | ^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:[\[(].*)?$ | ^[A-Za-z_]\w*\[ | ^[$&*@][A-Za-z_{(] | ^[{(\[<] | ^(?:\w+::)+\w+
    | ^(?:[rbfu]{1,2})?["'] | ^--[a-z] | ^= | ^[A-Za-z_.]{1,14}\d?=$ | ^\\ | ^\+$ | ^->"""
)
_PARTS = re.compile(r"[a-z]+")
_DOTTED_WORDS = re.compile(r"[A-Z]?[a-z]{2,11}(?:\.[a-z]{3,12}){3,7}\d{0,4}")
"""More words than names in code have."""
_CHOSEN = re.compile(
    r"(?!(?i:\S*\.(?:sha|utf|int|u?int|float|base|aes|rsa|md|crc|ascii|latin|win|cp|iso|v)\d+$))"
    r"(?:[A-Z]?[a-z0-9]{3,14}\.[a-z]{3,14}\d{2,4}|(?=[A-Za-z]*\d)[A-Z]?[a-z0-9]{3,14}\.[A-Z][a-z]{2,13}\d{2,4}|(?=[^_]*\d|\w*\d\d)[a-z0-9]{4,14}_[A-Z]{3,14}\d{1,4}|[a-z]{2,8}\d[a-z]{1,8}_[a-z]{3,14}\d{2,4})!?"
)
"""Two words, a sign and a number (`Sparrow.badger44`, `0nyx_HARBOR16`), as people choose passwords
and nobody names things in code.
"""
_NUMBERED = re.compile(r"(?!.*\D(?:16|32|64|128|256|512)$)[a-z]{3,14}_[a-z]{3,14}\d{2,4}")
"""Two words and a number: a password where its label stands, a name anywhere else."""
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def is_chosen(text: str) -> bool:
    """Whether a text is two words, a sign and a number, written as no name is."""
    return _CHOSEN.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def is_given(text: str) -> bool:
    """Whether a text is a value and not a variable, a blank or an option: enough where the place
    itself says that it is secret.
    """
    bare = text.strip(" \"'=")
    if len(bare) < 3 or is_placeholder(bare) or bare.casefold() in NOTHING:
        return False
    if _CHOSEN.fullmatch(bare) or _DOTTED_WORDS.fullmatch(bare) or not _EXPRESSION.search(bare):
        return True
    return _is_drawn_name(bare)


def _is_drawn_name(text: str) -> bool:
    """Written as a name of code with points, and yet drawn."""
    return (
        re.fullmatch(r"[\w.]+", text) is not None
        and is_random(text, 12)
        and any(map(str.isdigit, text))
    )


@lru_cache(maxsize=4096)
def is_password(text: str, *, quoted: bool = True) -> bool:
    """Whether a text can be the password that a label before it announces: no word of the label's
    own kind, no sentence, no code.
    """
    bare = text.strip()
    folded = bare.casefold()
    if not 4 <= len(bare) <= 200 or is_placeholder(bare) or folded in NOTHING or len(set(bare)) < 3:
        return False
    if " " in bare:
        return is_phrase(bare)
    if _SECRET_WORDS.search(bare) and re.fullmatch(r"[A-Za-z_ .:-]+", bare):
        return False
    if _DOTTED_WORDS.fullmatch(bare):
        return not set(_PARTS.findall(folded)) & NOTHING
    if _CHOSEN.fullmatch(bare) or (
        _NUMBERED.fullmatch(bare)
        and not _SECRET_WORDS.search(bare)
        and not set(_PARTS.findall(bare)) & NOTHING
    ):
        return True
    if not quoted and (
        (_EXPRESSION.search(bare) and not _is_drawn_name(bare))
        or (_IDENTIFIER.fullmatch(bare) and "_" in bare and is_wordlike(bare))
    ):
        return False
    return not (bare.startswith(("http://", "https://", "/")) and is_wordlike(bare))


@lru_cache(maxsize=4096)
def is_mixed_password(text: str) -> bool:
    """A password that no word could be: letters of both cases, digits or signs among its
    letters.
    """
    bare = text.strip(" \"'")
    if not is_password(bare, quoted=False) or not any(char.isalpha() for char in bare):
        return False
    signs = any(not char.isalnum() and char not in "-_./: " for char in bare)
    digits = any(char.isdigit() for char in bare)
    return (digits and (signs or is_random(bare, 6) or len(bare) >= 6)) or signs or is_random(bare)


@lru_cache(maxsize=4096)
def is_phrase(text: str) -> bool:
    """Whether words with spaces between them are a phrase to log in with, and no sentence or
    caption.
    """
    said = re.findall(r"[^\W\d_]+", text.casefold())
    if not 2 <= len(said) <= 30 or text.rstrip().endswith((":", "?", "...")):
        return False
    if any(char.isdigit() for char in text) and not set(said) & FUNCTION_WORDS:
        return True
    return (
        not set(said) & FUNCTION_WORDS
        and not _SECRET_WORDS.search(text)
        and not any(sign in text for sign in ",;()<>={}")
    )


def is_seed_phrase(text: str) -> bool:
    """12 to 24 words, a multiple of three, none of which holds a sentence together."""
    said = re.findall(r"[a-z]+", text.casefold())
    return len(said) % 3 == 0 and 12 <= len(said) <= 24 and len(set(said) & FUNCTION_WORDS) <= 1


def is_mixed(text: str) -> bool:
    """Capitals, small letters and digits, in no order that words have."""
    classes: tuple[Callable[[str], bool], ...] = (str.isupper, str.islower, str.isdigit)
    return all(any(map(test, text)) for test in classes) and is_random(text)


def is_bare_aws_secret(text: str) -> bool:
    """40 characters of base64 that nothing names: drawn beyond doubt, and no digest or path."""
    if is_digest(text) or not is_mixed(text) or bits(text) < 4.2 or text.count("/") > 4:
        return False
    return sum(char.isdigit() for char in text) >= 3 and not text.startswith("/")


def is_url_password(text: str) -> bool:
    """What stands between a user and a host, and is no port and no word for a password."""
    said = (
        len(text) >= 3
        and not is_placeholder(text)
        and text.casefold() not in NOTHING
        and not _CODE_IN_URL.search(text)
    )
    return said and not (text.isdigit() and len(text) <= 3)


_CODE_IN_URL = re.compile(r"^[$&*@{(\[<%]|\w\(|\+$|^\\|^[\"']|^[a-z_]+(?:\.[a-z_]+)+$")


def is_user_and_password(text: str) -> bool:
    """Base64 of `user:password`."""
    try:
        plain = base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
    except ValueError:
        return False
    return plain.isprintable() and ":" in plain


def is_cookie_value(text: str) -> bool:
    """A value of a cookie that lets its bearer in: drawn, not a date, a domain or a setting."""
    return (
        is_random(text, 10)
        and text.count(":") < 3
        and not re.match(r"\d{1,2}-[A-Z][a-z]{2}-\d", text)
        and (any(char.isdigit() for char in text) or len(text) >= 20)
    )


def is_community(text: str) -> bool:
    """An SNMP community that is not one of the two that everybody has."""
    return is_given(text) and text.casefold() not in (
        "public",
        "private",
        "string",
        "strings",
        "name",
    )


def is_device_password(text: str) -> bool:
    """What a router's configuration gives after `secret` or `password`, and no word of its
    grammar.
    """
    return is_given(text) and (any(char.isdigit() for char in text) or is_random(text))


def is_authorizing(text: str) -> bool:
    """A value of a header that lets in: drawn, or a UUID or digest, which is public elsewhere."""
    return (
        not is_placeholder(text)
        and (is_digest(text) or is_random(text, 10))
        and any(char.isdigit() for char in text)
    )


def is_grouped_key(text: str) -> bool:
    """Groups of capitals and digits, mixed in most of them."""
    groups = text.split("-")
    mixed = sum(any(map(str.isdigit, group)) and any(map(str.isalpha, group)) for group in groups)
    return 2 * mixed >= len(groups) and len(set(text)) >= 8 and not is_placeholder(text)


def is_encoded_login(text: str) -> bool:
    """Base64 of what a mail client sends to log in: text, perhaps with zero bytes between its
    parts.
    """
    try:
        plain = base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
    except ValueError:
        return False
    return plain.replace("\0", "").replace("\1", "").isprintable() and len(plain) >= 6


def is_file_password(text: str) -> bool:
    """What stands after a user and a colon in a file of passwords: no path, no time, no word of
    settings.
    """
    return (
        is_given(text)
        and not text.isdigit()
        and (is_mixed_password(text) or text.count("-") + text.count(".") >= 2)
    )


def is_wire_password(text: str) -> bool:
    """What follows AUTH, where it is no name of a method."""
    return (
        is_given(text)
        and not text.isupper()
        and text.upper() not in ("PLAIN", "LOGIN", "NTLM", "TLS", "MODE", "FAILED", "ERROR")
    )


def is_given_words(text: str) -> bool:
    """One word or two, of which the last is a value."""
    return all(len(word) >= 3 for word in text.split()) and is_given(text.split()[-1])


def is_told_password(text: str) -> bool:
    """A password that stands after a user's name: mixed, and no address, path, host or call."""
    bare = text.rstrip(".,;)")
    if _CHOSEN.fullmatch(bare) or _DRAWN_WORDS.fullmatch(bare):
        return not is_placeholder(bare)
    drawn = any(map(str.isdigit, bare)) or (
        re.search(r"[!@#$%^&*+~?]", bare) is not None and is_random(bare)
    )
    return is_mixed_password(bare) and drawn and _ELSEWHERE.fullmatch(bare) is None


def is_told_beside_user(text: str) -> bool:
    """The same among the arguments of a call that logs in, where strings without digits are names
    more often.
    """
    return " " not in text and is_told_password(text) and len(text) >= 7


def is_signed_key(text: str) -> bool:
    """A key of letters, digits and many signs, as frameworks draw them."""
    signs = {char for char in text if not char.isalnum()} - set(" _-./")
    return (
        len(signs) >= 4
        and bits(text) >= 4
        and any(map(str.isdigit, text))
        and "example" not in text
        and "://" not in text
    )


def is_shown_value(text: str) -> bool:
    """What a file of a secret holds, alone in its line: a digest, a UUID, or something drawn."""
    return is_digest(text) or (
        is_random(text, 8) and is_mixed_password(text) and _ELSEWHERE.fullmatch(text) is None
    )


_DRAWN_WORDS = re.compile(r"[a-z]{3,12}(?:-[a-z]{3,12}){3,6}")


_ELSEWHERE = re.compile(
    r"(?i)\S*[/\\({<>]\S*|(?-i:[A-Z]{2,}[0-9-][A-Z0-9-]*)|\S+@\S+\.[a-z]{2,}|[\w.-]+\.[a-z]{2,8}(?::\d+)?|[a-z]+_?\d{1,4}|\d[\d.,:/+-]*[a-z]{0,3}%?"
    r"|(?-i:[a-z_.-]+|[A-Z_]+|[A-Z][a-z]+)=\S*|.*\s.*"
)


def is_chosen_key(text: str) -> bool:
    """A key that a person made up: words with digits in them, a capital, and a number or a sign
    beside them.
    """
    return (
        len(text) >= 12
        and any(map(str.isupper, text))
        and any(map(str.islower, text))
        and is_mixed_password(text)
        and re.search(r"\d", text) is not None
        and re.search(r"[_!@#$%^&*+~-]", text) is not None
        and re.search(r"[a-zA-Z]\d[a-z]|\d{2}", text) is not None
        and "/" not in text
        and "." not in text
        and " " not in text
    )
