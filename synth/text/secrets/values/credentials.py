"""Judges what stands where a password, a cookie or a key is given: the secret itself, or a word, a
variable, a blank.
"""

import base64
import re
from functools import lru_cache

from synth.text.secrets.values.randomness import (
    is_placeholder,
    is_random,
    is_wordlike,
)
from synth.text.secrets.values.words import listed

FUNCTION_WORDS = listed("function_words")
NOTHING = listed("nothing")
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


def is_user_and_password(text: str) -> bool:
    """Base64 of `user:password`."""
    try:
        plain = base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
    except ValueError:
        return False
    return plain.isprintable() and ":" in plain


def is_encoded_login(text: str) -> bool:
    """Base64 of what a mail client sends to log in: text, perhaps with zero bytes between its
    parts.
    """
    try:
        plain = base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
    except ValueError:
        return False
    return plain.replace("\0", "").replace("\1", "").isprintable() and len(plain) >= 6


def is_given_words(text: str) -> bool:
    """One word or two, of which the last is a value."""
    return all(len(word) >= 3 for word in text.split()) and is_given(text.split()[-1])


def is_nothing(text: str) -> bool:
    """A word that stands where a value is due, and is none."""
    return text.casefold() in NOTHING


def is_drawn_words(text: str) -> bool:
    """Words without grammar: none that holds a sentence together, none of passwords themselves."""
    said = re.findall(r"[a-z]+", text.casefold())
    return (
        3 <= len(said) <= 12
        and is_phrase(" ".join(said))
        and not set(said) & (FUNCTION_WORDS | NOTHING | _SPOKEN_OF)
    )


_SPOKEN_OF = listed("spoken_of")
