"""What looks like an API key, what is named like one, and what can be sent as one."""

import re
from itertools import pairwise

_PREFIXED = re.compile(
    r"(?:bearer\s+)?(?:sk|pk|rk|gsk|xai|hf|nvapi|ghp|glpat|AIza)[-_]?[A-Za-z0-9_\-.]{12,}",
    re.IGNORECASE,
)
_WITHIN = re.compile(
    r"(?<![A-Za-z0-9_-])(?:(?:[spr]k[-_]|gsk_|xai-|hf_|nvapi-|gh[pousr]_|glpat-|AIza|r8_|pplx-|tvly-|npm_|dckr_pat_|gl(?:sa|c)_"
    r"|shp(?:at|ca|pa|ss)_)[A-Za-z0-9_\-.]{12,}|secret_[A-Za-z0-9]{32,}|(?:github_pat|lin_api|ntn|whsec|do[opr]_v1|sbp|figd|phc|lsv2_pt)_[A-Za-z0-9_\-]{16,}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|pypi-[A-Za-z0-9_\-]{16,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_.-]{10,}|SG\.[A-Za-z0-9_\-.]{20,}|ya29\.[A-Za-z0-9_\-.]{12,}|hvs\.[A-Za-z0-9_\-]{16,}"
    r"|dapi[a-f0-9]{32}|AGE-SECRET-KEY-[A-Z0-9]{20,}|GOCSPX-[A-Za-z0-9_\-]{16,}|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9]{20,})"
)
"""How the keys of well-known issuers begin; the first is for whole values, the second for what
stands in a text.
"""
_USER = re.compile(r"(?<=://)[^\s/@]+:[^\s/@]+(?=@)")
_DRAWN = re.compile(r"[A-Za-z0-9_]{20,}")
_ONE_WORD = re.compile(r"[A-Za-z0-9+/_=.~-]+")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_SECRET_WORDS = (
    "secret password passwd passphrase passcode credential authorization apikey bearer cookie pat"
)
_SECRET = frozenset(_SECRET_WORDS.split())
"""Words that make a secret of what they name, at the end of a name."""
_KEYS_OF_WORDS = (
    "api secret access private encryption signing auth master account storage service ssh "
    "deploy webhook hmac client license licence admin session bot app security"
)
_KEYS_OF = frozenset(_KEYS_OF_WORDS.split())
_TOKENS_OF = _KEYS_OF | {
    "refresh",
    "id",
    "personal",
    "bearer",
    "hf",
    "hub",
    "github",
    "gitlab",
    "slack",
    "oauth",
    "jwt",
    "registry",
}
_PLAIN_KEYS_WORDS = "primary foreign state sort public partition group cache routing order index"
_PLAIN_KEYS = frozenset(_PLAIN_KEYS_WORDS.split())
_PLAIN_TOKENS_WORDS = "eos bos pad stop unk sep cls mask start end special max min num"
_PLAIN_TOKENS = frozenset(_PLAIN_TOKENS_WORDS.split())
"""Before `key` and `token`: what is no secret."""


def looks_like_key(text: str) -> bool:
    """Whether a text begins as providers' keys do, and holds digits as they do."""
    return (
        _PREFIXED.fullmatch(text) is not None
        and any(character.isdigit() for character in text)
        and not text.isupper()
    )


def holds_issued(text: str) -> bool:
    """Whether a key stands in a text that begins as those of a well-known issuer do."""
    return any(
        any(character.isdigit() for character in found[0]) for found in _WITHIN.finditer(text)
    )


def names_a_variable(text: str) -> bool:
    """Whether a text can be the name of an environment variable, and is no key: one is long, and
    mixes small letters and digits.
    """
    if not (text.isascii() and text.isidentifier()) or looks_like_key(text):
        return False
    drawn = (
        _DRAWN.fullmatch(text) is not None and sum(character.isdigit() for character in text) >= 4
    )
    return text.isupper() or not drawn


def names_a_key(name: str, *, variable: bool = False) -> bool:
    """Whether what a setting of this name holds is a key; of a `variable` of an environment, any
    key, token or pass word is.
    """
    words = [_singular(word.lower()) for word in _WORDS.findall(name)]
    last, before = words[-1] if words else "", words[-2] if len(words) > 1 else ""
    if (
        last in _SECRET
        or last.endswith(("apikey", "password", "passwd", "secret"))
        or (variable and last in ("pass", "pw", "pwd", "auth", "dsn") and bool(before))
    ):
        return True
    if last == "key":
        return before in _KEYS_OF or (variable and before not in _PLAIN_KEYS)
    if last == "token":
        return before in _TOKENS_OF or (variable and before not in _PLAIN_TOKENS)
    return False


def _singular(word: str) -> str:
    return word.removesuffix("s") if not word.endswith("ss") else word


def drawn(text: str, *, least: int = 20) -> bool:
    """Whether a text is one word drawn at random, as keys are: kinds of characters change often in
    it; no path, no version.
    """
    if (
        len(text) < least
        or _ONE_WORD.fullmatch(text) is None
        or text.startswith(("/", "./", "../", "~"))
    ):
        return False
    longest = max(re.findall(r"[A-Za-z0-9]+", text), key=len, default="")
    if len(longest) < min(least, 16) or longest.isdigit():
        return False
    kinds = [
        "digit" if character.isdigit() else "upper" if character.isupper() else "lower"
        for character in longest
    ]
    changes = sum(one != other for one, other in pairwise(kinds)) / (len(kinds) - 1)
    return changes >= 0.45 or (changes >= 0.3 and kinds.count("digit") >= 2)


def sendable(key: str) -> bool:
    """Whether an HTTP header can carry the key: printable ASCII without white space, and without
    quotes and backslashes as in no key.
    """
    return key.isascii() and key.isprintable() and not set(key) & set(' "\\')


def has_user(url: str) -> bool:
    """Whether a URL carries a user's name with a password, or, where no host may hold an @, a name
    alone.
    """
    protocol, separator, rest = url.partition("://")
    user, at, _ = rest.partition("/")[0].rpartition("@")
    return bool(separator and at) and (
        ":" in user
        or looks_like_key(user)
        or protocol in ("s3", "s3a", "gs", "gcs", "http", "https")
    )


def without_keys(text: str) -> str:
    """A line for people, in which whatever looks like a key is `[key]`."""
    return _USER.sub(
        "[key]", _WITHIN.sub(lambda found: "[key]" if holds_issued(found[0]) else found[0], text)
    )
