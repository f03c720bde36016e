"""Finds phrases that restore wallets: 12 to 24 small words in a row, none of which holds a sentence
together.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from synth.text.secrets.values.words import listed

SEED_WORDS = (
    r"\b(?:(?:\d{1,2}[.):]? ?)?[a-z]{3,8}(?:[\"']?, ?[\"']?|-|[ \t]{1,4}|[ \t]?\r?\n[ "
    r"\t]?)){11,}(?:\d{1,2}[.):]? ?)?[a-z]{3,8}\b"
)
_WORD = re.compile(r"[a-z]{3,8}")
_NEVER = listed("in_no_seed")
_LEAST = 12
_NAMED = re.compile(
    r"(?i)seed|mnemonic|phrase|wallet|metamask|ledger|bip-?39|recover|[\"']words[\"']\s?:"
)


def seed_values(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Each stretch of at least twelve words without a function word, of words as different as drawn
    ones.
    """
    stretch: list[re.Match[str]] = []
    for match in [*_WORD.finditer(text, start, end), None]:
        if match is not None and match.group() not in _NEVER:
            stretch.append(match)
            continue
        if len(stretch) >= _LEAST and _is_seed(text, stretch):
            yield stretch[0].start(), stretch[-1].end()
        stretch = []


def _is_seed(text: str, stretch: list["re.Match[str]"]) -> bool:
    """Lists of strings stand in code as often: they must be named as words of a wallet, and as many
    as those have.
    """
    said = [one.group() for one in stretch]
    listed = text[stretch[0].end()] in "\"'-"
    beside = (
        text[max(0, stretch[0].start() - 60) : stretch[0].start()],
        text[stretch[-1].end() : stretch[-1].end() + 80],
    )
    named = len(said) in (12, 15, 18, 21, 24) and any(map(_NAMED.search, beside))
    return _is_drawn(said, listed=listed) and (named or not listed)


def _is_drawn(said: list[str], *, listed: bool) -> bool:
    inflected = sum(
        word.endswith(("ing", "ed", "ly", "ies", "ers"))
        or (word[-1] == "s" and word[-2] not in "seiou")
        for word in said
    )
    return (
        len(set(said)) >= (0.75 if listed else 0.85) * len(said)
        and inflected <= 0.2 * len(said)
        and len(said) <= 32
        and not _is_sorted(said)
    )


def _is_sorted(said: list[str]) -> bool:
    """A list of words of a language or of a program, in the order of the alphabet."""
    return sum(one <= other for one, other in pairwise(said)) >= 0.8 * (len(said) - 1)
