"""What is tried again by itself in a run that nobody watches, after how long, and what is not,
because it would only repeat itself.

Episodes have rules of their own, by fault (docs/architecture.md, Outcomes); this is about what ends
a shard or a whole run.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from synth.engine.numbers import short_duration
from synth.schemas.errors import ConfigError, DamagedError, SynthError

T = TypeVar("T")

SHARD_AGAIN_S = (10.0, 60.0)
"""A commit that a store or a disk has refused: the journal holds the shard's replies, none is asked
for again.
"""
RUN_AGAIN_S = (60.0, 300.0)
"""A run that a model's server has ended by refusing, or a store: what is committed stays."""


def passes(error: Exception) -> bool:
    """Whether the same may go well a while later: not what the user must change, and not what is
    damaged.
    """
    return isinstance(error, (SynthError, OSError)) and not isinstance(
        error, (ConfigError, DamagedError)
    )


async def again_after(
    work: Callable[[], Awaitable[T]],
    what: str,
    say: Callable[[str], None],
    waits_s: tuple[float, ...] = SHARD_AGAIN_S,
) -> T:
    """Awaits `work()`, again after each of `waits_s` where what went wrong passes. Raises what the
    last try has raised.
    """
    for wait_s in waits_s:
        try:
            return await work()
        except (SynthError, OSError) as error:
            if not passes(error):
                raise
            say(f"{what}: {error}; tried again in {short_duration(wait_s)}")
        await asyncio.sleep(wait_s)
    return await work()
