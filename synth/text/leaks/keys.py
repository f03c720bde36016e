"""Names of members of objects (`{"zip": "10228"}`): a tool's words, and no facts of whoever quotes
its answer. A key that is a value itself (an id, a code) is none of them.
"""

import re

_FIELD = r"[a-z][A-Za-z_]*\d{0,2}"
_NAMED = re.compile(rf"(?<=[{{,])\s*([\"']){_FIELD}\1\s*:")
BREAK = "\x1f"
"""Stands where a key stood, and in no word."""


def is_field(key: str) -> bool:
    """Whether a key names a member: `address1` and `City` do, `credit_card_1620755` does not."""
    return key.replace("_", "").isalpha() or re.fullmatch(_FIELD, key) is not None


def without_keys(text: str) -> str:
    """A text in which `BREAK` stands for each key of an object that names a member; not for one
    that begins with a capital, which may be a name.
    """
    return _NAMED.sub(BREAK, text)
