"""API keys: what looks like one, what can be sent as one, and how one is taken out of what a server sends back."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

KEY_REMOVED = "api_key_removed"
"""The repair that a reply names in which the key was found."""
SHORTEST = 12
"""Characters from which on a key is looked for in replies: what is shorter ("EMPTY", "dummy") is no secret, but may be a word."""

_PREFIXED = re.compile(r"(?:bearer\s+)?(?:sk|pk|rk|gsk|xai|hf|nvapi|ghp|glpat|AIza)[-_]?[A-Za-z0-9_\-.]{12,}", re.IGNORECASE)
_DRAWN = re.compile(r"[A-Za-z0-9_]{20,}")
_KEY_NAMES = frozenset(
    {"authorization", "proxy_authorization", "api_key", "apikey", "x_api_key", "api_token", "access_token", "auth_token", "bearer_token"}
    | {"secret", "client_secret", "secret_key", "password", "passwd"}
)


def looks_like_key(text: str) -> bool:
    """Whether a text begins as providers' keys do, and holds digits as they do."""
    return _PREFIXED.fullmatch(text) is not None and any(character.isdigit() for character in text) and not text.isupper()


def names_a_variable(text: str) -> bool:
    """Whether a text can be the name of an environment variable, and is no key: one is long, and mixes small letters and digits."""
    if not (text.isascii() and text.isidentifier()) or looks_like_key(text):
        return False
    drawn = _DRAWN.fullmatch(text) is not None and sum(character.isdigit() for character in text) >= 4
    return text.isupper() or not drawn


def key_like(value: Any, place: str = "") -> Iterator[str]:
    """Places in a setting that hold a key by their name or by their look, without the keys themselves."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            where = f"{place}.{name}" if place else str(name)
            plain = str(name).lower().replace("-", "_")
            if plain in _KEY_NAMES or plain.endswith("_api_key"):
                yield where
            elif looks_like_key(str(name)):
                yield f"{place or 'it'} (a name in it)"
            else:
                yield from key_like(inner, where)
    elif isinstance(value, str):
        if looks_like_key(value) or value.lower().startswith("bearer "):
            yield place
    elif isinstance(value, Sequence):
        for index, inner in enumerate(value):
            yield from key_like(inner, f"{place}[{index}]")


def sendable(key: str) -> bool:
    """Whether an HTTP header can carry the key: printable ASCII without white space, and without quotes and backslashes as in no key."""
    return key.isascii() and key.isprintable() and not set(key) & set(' "\\')


class KeyRemover:
    """Takes one key out of response bodies, however JSON writes it: plain, as `\\u00xx`, as `\\/`, or as JSON inside a JSON string."""

    def __init__(self, key: str) -> None:
        self._key = key.encode() if len(key) >= SHORTEST else None
        self._escaped = re.compile(b"".join(_written(character) for character in key))

    def clean(self, body: bytes) -> bytes:
        """The body with `[key]` in the key's place; the same object where the key is not in it."""
        if self._key is None:
            return body
        if self._key in body:
            body = body.replace(self._key, b"[key]")
        if b"\\u00" in body or b"\\/" in body:
            body = self._escaped.sub(b"[key]", body)
        return body


def _written(character: str) -> bytes:
    """A pattern of the ways in which JSON may write a printable ASCII character, at any depth of strings within strings."""
    plain = re.escape(character)
    code = "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{ord(character):02x}")
    plain = r"\\*/" if character == "/" else plain
    return f"(?:{plain}|\\\\+u00{code})".encode()
