"""In what two rows of lines differ."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

Span = tuple[int, int, int, int]
"""First and last line of what goes, and of what comes in its place; the last ones are not in it."""


def changes(old: Sequence[str], new: Sequence[str]) -> Iterator[Span]:
    """The runs that differ, from the top."""
    for what, *span in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what != "equal":
            first, last, start, end = span
            yield first, last, start, end
