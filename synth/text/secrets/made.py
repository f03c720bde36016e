"""Rows of things that programs draw for people: codes of one shape, words that restore wallets."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from synth.text.secrets.spans import Bounds, lines
from synth.text.secrets.words import has, is_wordlike, listed

_CODE_LINES = 24
_CODE = re.compile(
    r"(?<![\w.:/@-])(?:[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){1,5}|[0-9]{8,10}|[0-9]{4} "
    r"[0-9]{4}|[0-9]{3} [0-9]{3}|[A-Za-z0-9]{8,12}|[0-9a-f]{16})(?![\w:/@-]|\.\w)"
)
_WORD = re.compile(r"[a-z]{3,8}")
_INFLECTED = re.compile(r"(?:ing|ed|ly|ies|ers|[^seiou]s)\Z")
_NAMED = re.compile(
    r"(?i)seed|mnemonic|phrase|wallet|metamask|ledger|bip-?39|recover|[\"']words[\"']\s?:"
)
_SEED_LENGTHS = (12, 15, 18, 21, 24)
_MOST_WORDS = 32


def codes(text: str, start: int, end: int) -> Iterator[Bounds]:
    """Codes in the line of a match and in those below, where there are two of a shape or more."""
    stop = end

    for first, last in lines(text, end + 1, _CODE_LINES):
        line = text[first:last].strip()
        if first > end + 1 and line and not _CODE.search(line):
            break

        stop = last

    by_shape = defaultdict(list)

    for match in _CODE.finditer(text, start, stop):
        if has(match[0], "digit") or not is_wordlike(match[0]):
            by_shape[re.sub(r"\w", "x", match[0])].append(match)

    for found in by_shape.values():
        said = [match[0] for match in found]
        with_digits = sum(has(code, "digit") for code in said)
        if len(set(said)) > 1 and with_digits >= max(2, len(said) / 2):
            yield from (match.span() for match in found)


def seed(text: str, start: int, end: int) -> Iterator[Bounds]:
    """Phrases that restore wallets: small words in a row, as different as drawn ones.

    None of them holds a sentence together.
    """
    words = _WORD.finditer(text, start, end)

    for common, row in groupby(words, lambda word: word[0] in listed("in_no_seed")):
        stretch = list(row)
        if not common and 12 <= len(stretch) <= _MOST_WORDS and _is_seed(text, stretch):
            yield stretch[0].start(), stretch[-1].end()


def _is_seed(text: str, stretch: Sequence["re.Match[str]"]) -> bool:
    """Whether words were drawn, and are no list of strings and no dictionary.

    In code, words must be named as those of a wallet and be as many as it has; a dictionary stands
    in the order of the alphabet.
    """
    said = [word[0] for word in stretch]
    start, end = stretch[0].start(), stretch[-1].end()
    in_code = text[stretch[0].end()] in "\"'-"
    beside = f"{text[max(0, start - 60) : start]} {text[end : end + 80]}"
    named = len(said) in _SEED_LENGTHS and _NAMED.search(beside) is not None
    inflected = sum(_INFLECTED.search(word) is not None for word in said)
    in_order = sum(one <= other for one, other in pairwise(said))

    return (
        (named or not in_code)
        and len(set(said)) >= (0.75 if in_code else 0.85) * len(said)
        and inflected <= 0.2 * len(said)
        and in_order < 0.8 * (len(said) - 1)
    )
