"""Validators of what a flow sets of the stage `topology`."""

import re

from synth.topology.embeddings import missing
from synth.topology.keys import Level


def installed(level: Level) -> Level:
    """Raises `ValueError` where level `semantic` lacks its encoder."""
    told = missing() if level == "semantic" else None
    if told is not None:
        raise ValueError(told)
    return level


def patterns_of_something(patterns: dict[str, str]) -> dict[str, str]:
    """Raises `ValueError` for what is no regular expression, and for what matches between any two
    characters.
    """
    for name, pattern in patterns.items():
        try:
            found = re.compile(pattern).match("")
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"{name}: {pattern!r} is no regular expression: {error}") from error

        if found is not None:
            raise ValueError(
                f"{name}: {pattern!r} matches the empty text, and so stands between any two "
                "characters; ask for one at least"
            )

    return patterns
