"""Reads from the name of a value what it holds: a password, a token, something that may be secret,
or nothing of the kind.
"""

import re
from functools import cache, lru_cache
from typing import Literal

from synth.text.secrets.values import listed

Label = Literal["password", "token", "phrase", "pin", "maybe"]
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z\u00df-\u00ff]+|\d+|[A-Z]")


@lru_cache(maxsize=4096)
def label_of(name: str) -> Label | None:
    """What a name announces, by its last word: `DB_PASSWORD_2` a password, `token_count` and
    `key_id` nothing.
    """
    parts = [part.casefold() for part in _PARTS.findall(name)][-6:]
    while len(parts) > 1 and (parts[-1].isdigit() or parts[-1] in listed("suffixes")):
        parts.pop()
    if not parts:
        return None
    before, last = ("".join(parts[-2:-1]), parts[-1])
    pair = before + last
    if pair in ("passphrase", "motdepasse") or parts[-3:] == ["mot", "de", "passe"]:
        return "password"
    if last in listed("phrases") or pair == "recoverywords":
        return "phrase"
    if last == "pin":
        return "pin"
    if (
        last.endswith(_ends("passwords"))
        or pair.endswith(("password", "passwd"))
        or last == "pw"
        or (last == "pass" and before)
    ):
        return "password"
    if last.endswith(_ends("tokens")) or pair.endswith(("apikey", "sessionid")):
        return "token"
    if last in ("key", "keys"):
        if before in listed("key_of") or before.endswith(("api", "access", "secret", "private")):
            return "token"
        return None if not before or before in listed("no_key_of") else "maybe"
    vendor = _vendors().search(name) and last not in ("id", "url", "uri", "version")
    return "maybe" if vendor or last in listed("alone") else None


@cache
def _ends(name: str) -> tuple[str, ...]:
    return tuple(listed(name))


@cache
def _vendors() -> "re.Pattern[str]":
    return re.compile("|".join(listed("vendors")), re.IGNORECASE)
