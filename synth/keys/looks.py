"""What looks like an API key, what is named like one, and what can be sent as one."""

import re

_PREFIXED = re.compile(
    r"(?:bearer\s+)?(?:sk|pk|rk|gsk|xai|hf|nvapi|ghp|glpat|AIza)[-_]?[A-Za-z0-9_\-.]{12,}",
    re.IGNORECASE,
)
_WITHIN = re.compile(
    r"(?<![A-Za-z0-9_-])(?:(?:[spr]k[-_]|gsk_|xai-|hf_|nvapi-|gh[pousr]_|glpat-|AIza|r8_|pplx-"
    r"|tvly-|npm_|dckr_pat_|gl(?:sa|c)_|shp(?:at|ca|pa|ss)_)[A-Za-z0-9_\-.]{12,}"
    r"|secret_[A-Za-z0-9]{32,}"
    r"|(?:github_pat|lin_api|ntn|whsec|do[opr]_v1|sbp|figd|phc|lsv2_pt)_[A-Za-z0-9_\-]{16,}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}"
    r"|pypi-[A-Za-z0-9_\-]{16,}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_.-]{10,}"
    r"|SG\.[A-Za-z0-9_\-.]{20,}|ya29\.[A-Za-z0-9_\-.]{12,}|hvs\.[A-Za-z0-9_\-]{16,}"
    r"|dapi[a-f0-9]{32}|AGE-SECRET-KEY-[A-Z0-9]{20,}|GOCSPX-[A-Za-z0-9_\-]{16,}"
    r"|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9]{20,})"
)
"""How the keys of well-known issuers begin; the first is for whole values, the second for what
stands in a text.
"""
_USER = re.compile(r"(?<=://)[^\s/@]+:[^\s/@]+(?=@)")
_STORES = ("s3", "s3a", "gs", "gcs", "http", "https")
"""Protocols in whose URLs no host holds an @."""
_DRAWN = re.compile(r"[A-Za-z0-9_]{20,}")
_ONE_WORD = re.compile(r"(?!\.{0,2}/|~)[A-Za-z0-9+/_=.~-]+")
_RUNS = re.compile(r"\d+|[A-Z]+|[a-z]+")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_OF_KEYS = (
    r"(?:.*_)?(?:secret|password|passwd|passphrase|passcode|credential|authorization|apikey|bearer"
    r"|cookie|pat)|.*(?:apikey|password|passwd|secret)|(?:.*_)?(?:api|secret|access|private"
    r"|encryption|signing|auth|master|account|storage|service|ssh|deploy|webhook|hmac|client"
    r"|license|licence|admin|session|bot|app|security)_(?:key|token)|(?:.*_)?(?:refresh|id|personal"
    r"|bearer|hf|hub|github|gitlab|slack|oauth|jwt|registry)_token"
)
_OF_VARIABLES = (
    r"|.+_(?:pass|pw|pwd|auth|dsn)|(?!(?:.*_)?(?:primary|foreign|state|sort|public|partition|group"
    r"|cache|routing|order|index)_key\Z)(?:.*_)?key|(?!(?:.*_)?(?:eos|bos|pad|stop|unk|sep|cls|mask"
    r"|start|end|special|max|min|num)_token\Z)(?:.*_)?token"
)
_NAMES_KEY = re.compile(_OF_KEYS)
_NAMES_KEY_OF_PROCESS = re.compile(_OF_KEYS + _OF_VARIABLES)
"""Names of what is a key, in small letters, their words in the singular and joined by `_`."""


def looks_like_key(text: str) -> bool:
    """Whether a text begins as providers' keys do, and holds digits as they do."""
    return _PREFIXED.fullmatch(text) is not None and _has_digit(text) and not text.isupper()


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def holds_issued(text: str) -> bool:
    """Whether a key stands in a text that begins as those of a well-known issuer do."""
    return any(_has_digit(found[0]) for found in _WITHIN.finditer(text))


def names_a_variable(text: str) -> bool:
    """Whether a text can be the name of an environment variable, and is no key.

    A key is long, and mixes small letters and digits.
    """
    if not (text.isascii() and text.isidentifier()) or looks_like_key(text):
        return False

    is_drawn = _DRAWN.fullmatch(text) is not None and sum(map(str.isdigit, text)) >= 4

    return text.isupper() or not is_drawn


def names_a_key(name: str, *, variable: bool = False) -> bool:
    """Whether what a setting of this name holds is a key.

    Of a `variable` of an environment, any key, token or pass word is one.
    """
    words = [word.lower() for word in _WORDS.findall(name)]
    singular = [word if word.endswith("ss") else word.removesuffix("s") for word in words]
    pattern = _NAMES_KEY_OF_PROCESS if variable else _NAMES_KEY

    return pattern.fullmatch("_".join(singular)) is not None


def drawn(text: str, *, least: int = 20) -> bool:
    """Whether a text is one word drawn at random, as keys are; no path, no version.

    Then kinds of characters change often in its longest part.
    """
    if len(text) < least or _ONE_WORD.fullmatch(text) is None:
        return False

    longest = max(re.findall(r"[A-Za-z0-9]+", text), key=len, default="")
    if len(longest) < min(least, 16) or longest.isdigit():
        return False

    changes = (len(_RUNS.findall(longest)) - 1) / (len(longest) - 1)

    return changes >= 0.45 or (changes >= 0.3 and sum(map(str.isdigit, longest)) >= 2)


def sendable(key: str) -> bool:
    """Whether an HTTP header can carry the key.

    It can carry printable ASCII without white space; quotes and backslashes are in no key.
    """
    return key.isascii() and key.isprintable() and not set(key) & set(' "\\')


def has_user(url: str) -> bool:
    """Whether a URL carries a user's name with a password.

    Where no host holds @, a name alone is enough.
    """
    protocol, separator, rest = url.partition("://")
    user, at, _ = rest.partition("/")[0].rpartition("@")
    given = ":" in user or looks_like_key(user) or protocol in _STORES

    return bool(separator and at) and given


def without_keys(text: str) -> str:
    """A line for people, in which whatever looks like a key is `[key]`."""
    bare = _WITHIN.sub(lambda found: "[key]" if _has_digit(found[0]) else found[0], text)
    return _USER.sub("[key]", bare)
