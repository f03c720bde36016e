"""Fencing: the manifest itself refuses what a worker commits that was declared dead while it slept.

The fence stands in the same numbered log as the commits, and a commit is written only by who has
read every line before it: no
clock, no lease and no listing decides.
"""

from collections.abc import Mapping
from contextvars import ContextVar

import msgspec


class Fence(msgspec.Struct, frozen=True):
    """What the current task commits under: all that one holder of leases has in hand
    (`synth.leases`), and the token that it was given.
    """

    work: str
    token: int


class FencedError(Exception):
    """What the current task commits under was taken from it, under a greater token."""


FENCE: ContextVar[Fence | None] = ContextVar("FENCE", default=None)


def fenced(fences: Mapping[str, int]) -> bool:
    """Whether the greatest tokens, by work, put a fence before what the current task does."""
    fence = FENCE.get()
    return fence is not None and fences.get(fence.work, 0) > fence.token


def refuse_fenced(fences: Mapping[str, int]) -> None:
    """Raises `FencedError` where the current task is fenced off."""
    fence = FENCE.get()
    if fence is not None and fenced(fences):
        raise FencedError(
            f"{fence.work}: taken over under token {fences[fence.work]}, held here under token "
            f"{fence.token}"
        )
