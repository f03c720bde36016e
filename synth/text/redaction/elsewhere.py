"""Where else a value stands that was found in one place: what a sentence announced as a password is
told by nothing where it is typed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from synth.text.secrets.finder import Span

LEAST = 8
"""Characters of a value that is looked for elsewhere; a shorter one may be anything."""
_NUMBER = re.compile(r"\+?[\d\s()-]{6,}")
_BETWEEN = re.compile(r"[\s()-]")
_WORD = re.compile(r"[^\W\d_]+")


def same(value: str) -> str:
    """What is equal for the same value: letters in either case, numbers however they are cut
    by blanks, dashes and brackets (a dot tells one address from another).
    """
    return _BETWEEN.sub("", value) if _NUMBER.fullmatch(value) else value.casefold()


def announced(
    spans: Iterable[tuple[str, Span]], found: Callable[[str], Sequence[Span]]
) -> Mapping[str, str]:
    """By the ways in which they are written, the values that only what stood beside them told,
    longest first. `spans`: findings with the text that they stand in.

    One word is left out: it may be said of anything else.
    """
    forms: dict[str, str] = {}
    for text, span in spans:
        value = span.value
        if len(value) < LEAST or _WORD.fullmatch(value) or value in forms:
            continue
        if not any((one.start, one.end) == (0, len(value)) for one in found(value)):
            forms |= {value: value, text[span.start : span.end]: value}

    return {form: forms[form] for form in sorted(forms, key=len, reverse=True)}


def again(
    text: str, forms: Mapping[str, str], taken: Sequence[Span]
) -> Iterator[tuple[int, int, str]]:
    """(start, end, value) of these where nothing was found before."""
    covered = bytearray(len(text))
    for span in taken:
        covered[span.start : span.end] = b"x" * (span.end - span.start)

    for form, value in forms.items():
        at = text.find(form)
        while at >= 0:
            end = at + len(form)
            alone = not (_joins(text, at - 1, at) or _joins(text, end - 1, end))
            if alone and covered.find(b"x", at, end) < 0:
                covered[at:end] = b"x" * len(form)
                yield at, end, value
            at = text.find(form, end)


def _joins(text: str, left: int, right: int) -> bool:
    """Whether two characters belong to one word."""
    return left >= 0 and right < len(text) and text[left].isalnum() and text[right].isalnum()
