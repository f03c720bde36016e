"""Which public benchmark a run of a coding agent belongs to, by what it says of itself: instance,
image, working directories.
"""

import re
from collections.abc import Sequence
from typing import Any

from synth.importers.records import WORDS
from synth.schemas.trajectory import Turn

_TURNS_ASKED = 5  # the working directory stands under every answer of the shell
_INSTANCE = re.compile(r"(?P<repository>[\w.-]+__[\w.-]+)-\d+")


def swe_benchmark(instance: str | None, image: Any, turns: Sequence[Turn]) -> str | None:
    """`swe-bench/test`, `/dev` or `/unknown`, or another benchmark's name and split; None where
    nothing points to one.

    What the shell answered first is searched for working directories: other work on a repository of
    SWE-bench (`/django__django`) counts as the benchmark too, so that nothing of it slips into
    training data.
    """
    named = _INSTANCE.fullmatch(instance or "")
    shown = [one.content for turn in turns[:_TURNS_ASKED] for one in turn.observations]
    if named is not None:
        shown = [f"/{named['repository']}"]
    for pattern, benchmark in WORDS["swe_agent"]["folders"].items():
        if any(re.search(pattern, text) for text in shown):
            return str(benchmark)
    is_unknown = named is not None or "swebench" in str(image)
    return "swe-bench/unknown" if is_unknown else None
