"""The kinds of words by which closing words are read (`data/said.yaml`)."""

import re
from functools import cache
from typing import Any

from synth.envs.storefront.texts import texts


@cache
def said() -> Any:
    """The file."""
    return texts("said")


@cache
def pattern(name: str) -> re.Pattern[str]:
    """A pattern of the file."""
    return re.compile(said()[name].replace("\n", ""))


@cache
def patterns(name: str, part: str = "says") -> dict[str, re.Pattern[str]]:
    """The patterns of a table of the file, as whole words; of rows the named part."""
    rows = {key: row[part] if isinstance(row, dict) else row for key, row in said()[name].items()}
    return {
        key: re.compile(rf"(?<![\w@])(?:{words.replace(chr(10), '')})(?!\w)")
        for key, words in rows.items()
    }


@cache
def known_words() -> frozenset[str]:
    """The words of all kinds."""
    return frozenset(" ".join(said()["kinds"].values()).split())
