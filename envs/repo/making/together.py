"""Waits for several coroutines at once, so that an interrupt leaves nothing behind to be told
of.
"""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def together(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What each gives, in their order. Where one raises, or who waits is cancelled, the others are
    cancelled and have ended before that is raised.

    `asyncio.gather` makes a future of its own, whose cancellation nobody hears of where a loop is
    shut down by a signal: it says so in a traceback.
    """
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return [await task for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        while left := [task for task in tasks if not task.done()]:
            await asyncio.wait(left)
        for task in tasks:  # they are heard of here
            if not task.cancelled():
                task.exception()
