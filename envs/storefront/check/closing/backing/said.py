"""The kinds of words by which closing words are read (`data/said.yaml`)."""

import re
from functools import cache

from synth.envs.storefront import texts

SAID = texts.texts("said")


def pattern(name: str) -> re.Pattern[str]:
    """A pattern of the file."""
    return texts.pattern("said", name)


@cache
def patterns(name: str, part: str = "says") -> dict[str, re.Pattern[str]]:
    """The patterns of a table of the file, as whole words; of rows the named part."""
    rows = {key: row[part] if isinstance(row, dict) else row for key, row in SAID[name].items()}
    return {key: texts.compiled(rf"(?<![\w@])(?:{words})(?!\w)") for key, words in rows.items()}


@cache
def known_words() -> frozenset[str]:
    """The words of all kinds."""
    return frozenset(" ".join(SAID["kinds"].values()).split())
