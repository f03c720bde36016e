"""Tells a drawn value from a word, a name in code, a placeholder or a digest: what a secret's label
alone cannot tell.
"""

import re
from collections import Counter
from functools import lru_cache
from math import log2


def words(text: str) -> frozenset[str]:
    """The words that a text lists."""
    return frozenset(text.split())


_PAIRS = frozenset(
    pairs[0] + second
    for pairs in words(
        "a:bcdgiklmnprstuvy b:aeilorsu c:acehiklorstu d:adeilorsu e:acdefgilmnoprstvwxy f:aefiloru "
        "g:aeilnrsu h:aeiot i:abcdefglmnoprstvz k:eis l:adeilostuy m:abeimopsu n:acdefgiklnostuv "
        "o:bcdfgiklmnoprstuvw p:aeiloprstuy q:u r:acdegilmnoprstuy s:acehilopstuy "
        "t:acdefhilmoprstuy "
        "u:abceilmnprst v:aei w:aeir x:ept y:npst z:e"
    )
    for second in pairs[2:]
)
"""The 240 commonest pairs of letters: 91 % of those in words, 36 % of those in random letters."""
_SHARE_IN_WORDS = 0.7
_PLACEHOLDERS = re.compile(
    r"""(?ix) ^(?:x|\*|\.|-|_|\#|•|\?|0){3,}$ | x{4,} | \*{3} | \.{3} | … | example | change[_-]?(?:me|this|it) | your[_-]
    | ^your | _here$ | placeholder | redacted | dummy | ^<.*>?$ | ^\[.*\]?$ | ^[$%@&]*[{(] | ^\$\w+$ | ^%\w+%$ | ^%[sdr]$ | \{\{ | \$\{
    | ^(?:insert|replace|enter|my|some|any|new|old|fake|sample|test|the|this)[_ -](?!.*\d.*[a-z].*\d)
    | ^(?:abc)?1234567890?(?:abc\w*)?$ | 0123456789 | 1234567890 | abcdefghij | ^(?:%[sdr]|[^\w%])+$
    | \[[a-z0-9]-[a-z0-9] | ^\\[bwdsx] | ^(?:my|your|some|the|user|db|new|old)[_-]?(?:password|passwd|pass|secret|token|key)\d?$
    | ^todo | ^n/?a$ | ^(?:hidden|masked|removed|omitted|undisclosed|sanitized)$ """,
)
_DIGEST = re.compile(
    r"(?i)(?:sha\d+[-:])?(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})"
)
_UUID = re.compile(r"(?i)\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?")
_ORDINARY = re.compile(
    r"""(?ix) \d{4}-\d\d-\d\d(?:[T ].*)? | v?\d+(?:\.\d+)+[\w.+-]{0,12} | [\d\s.,:/+-]+%? | https?://.* | [\w.+-]+@[\w-]+(?:\.[\w-]+)+
    | (?:\.{0,2}|~|[a-z]:)?[/\\](?:[\w.-]+[/\\])*[\w.-]*\.[a-z]\w{0,5} | 0x[0-9a-f]{1,8} | [\w.-]+\.(?:pem|key|json|txt|ya?ml|py|js|crt|env)
    | (?:arn|urn|file|data|sha256|sha512|md5):.* | sha(?:1|256|384|512)-.* """,
)
_LETTERS = re.compile(r"[a-z]+")
_CHUNKS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@lru_cache(maxsize=4096)
def is_placeholder(text: str) -> bool:
    """Whether a text stands for a value that is put in elsewhere."""
    return _PLACEHOLDERS.search(text) is not None


@lru_cache(maxsize=4096)
def is_digest(text: str) -> bool:
    """Whether a text has the form of an MD5, SHA or UUID: as often the name of something public as
    a secret.
    """
    return _DIGEST.fullmatch(text) is not None or _UUID.fullmatch(text) is not None


def bits(text: str) -> float:
    """Shannon's entropy of the characters of a text, per character."""
    counts = Counter(text)
    return -sum(n / len(text) * log2(n / len(text)) for n in counts.values())


@lru_cache(maxsize=4096)
def is_wordlike(text: str) -> bool:
    """Whether the letters of a text follow each other as in words, with few digits among them: a
    name, a phrase, a path.
    """
    runs = _LETTERS.findall(text.casefold())
    pairs = [run[at : at + 2] for run in runs for at in range(len(run) - 1)]
    digits = sum(char.isdigit() for char in text)
    if len(pairs) < 3:
        return digits <= 2 and len(text) < 12
    common = sum(pair in _PAIRS for pair in pairs) / len(pairs)
    if common < _SHARE_IN_WORDS:
        return False
    if digits:
        return _few_digits(text) and _cased_as_words(text)
    return common >= 0.8 or _cased_as_words(text)


@lru_cache(maxsize=4096)
def is_random(text: str, least: int = 8) -> bool:
    """Whether a text of `least` characters or more was probably drawn: mixed characters, not words,
    not a date, a path, an address.
    """
    if len(text) < least or is_placeholder(text) or _ORDINARY.fullmatch(text):
        return False
    if bits(text) < min(2.8, log2(len(text)) * 0.72):
        return False
    if not any(char.isalpha() for char in text):
        return False
    return not is_wordlike(text)


def _few_digits(text: str) -> bool:
    """Words with version numbers: digits make up a fifth at most, in few places."""
    chunks = _CHUNKS.findall(text)
    numbers = [chunk for chunk in chunks if chunk.isdigit()]
    longest = max((len(chunk) for chunk in chunks if not chunk.isdigit()), default=0)
    return len(numbers) <= 3 and sum(map(len, numbers)) <= max(2, len(text) // 5) and longest >= 4


def _cased_as_words(text: str) -> bool:
    """Capitals stand where words begin: random letters of both cases make words of two letters."""
    chunks = [chunk for chunk in _CHUNKS.findall(text) if not chunk.isdigit()]
    return sum(map(len, chunks)) >= 3.5 * len(chunks)
