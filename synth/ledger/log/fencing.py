"""Fencing: the manifest itself refuses what a worker commits that was declared dead while it slept.

The fence stands in the same numbered log as the commits, and a commit is written only by who has
read every line before it: no clock, no claim and no listing decides.
"""

from collections.abc import Mapping
from contextvars import ContextVar

FENCE: ContextVar[str | None] = ContextVar("FENCE", default=None)
"""The worker (`synth.claims`) as which the current task commits."""


class FencedError(Exception):
    """The worker as which the current task commits was declared dead."""


def refuse_fenced(fences: Mapping[str, int]) -> None:
    """Raises `FencedError` where a fence stands before what the current task does."""
    if FENCE.get() in fences:
        raise FencedError(f"{FENCE.get()}: was declared dead; others have what it had claimed")
