"""Runs of words: what a text that was copied has in common with where it was copied from."""

import re
from collections.abc import Iterator, Sequence

Run = tuple[str, ...]
_WORD = re.compile(r"\w+")


def words_in(text: str) -> list[str]:
    """Runs of letters and digits, in one case."""
    return _WORD.findall(text.casefold())


def runs(words: Sequence[str], length: int) -> Iterator[Run]:
    """All runs of so many words."""
    return (tuple(words[at : at + length]) for at in range(len(words) - length + 1))
