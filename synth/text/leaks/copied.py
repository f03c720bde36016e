"""Runs of words that two texts share."""

import re
from collections.abc import Iterable

WORDS = 8
"""Length of a run (methods.md A3)."""
_WORD = re.compile(r"\w+")
Run = tuple[str, ...]


def runs(text: str, length: int = WORDS) -> set[Run]:
    """All runs of that many words, without case and punctuation; a shorter text of at least 4 words
    is one run.
    """
    words = _WORD.findall(text.casefold())
    if 4 <= len(words) < length:
        return {tuple(words)}
    return {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}


def shared(texts: Iterable[str], wanted: set[Run]) -> set[Run]:
    """Those of the wanted runs that stand in one of the texts."""
    lengths = {len(run) for run in wanted}
    found: set[Run] = set()
    for text in texts:
        words = _WORD.findall(text.casefold())
        for length in lengths:
            found.update(
                run
                for at in range(len(words) - length + 1)
                if (run := tuple(words[at : at + length])) in wanted
            )
    return found
