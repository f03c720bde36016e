"""Waiting that no limit of time counts: for a core, for a place among worlds that are open."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from weakref import WeakKeyDictionary

LIMITS: ContextVar[tuple[asyncio.Timeout, ...]] = ContextVar("limits", default=())
"""Of the crossings of the boundary that are under way in this task, the outermost first."""
_waited_s: ContextVar[list[float] | None] = ContextVar("waited_s", default=None)
_CORES = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]()


@contextmanager
def nobodys_time() -> Iterator[None]:
    """What is waited for in here counts for no timeout of the crossings around it, nor as the
    agent's time (`waits`).
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    stopped = [
        (clock, due - began)
        for clock in LIMITS.get()
        if (due := clock.when()) is not None and not clock.expired()
    ]
    for clock, _ in stopped:
        clock.reschedule(None)

    try:
        yield
    finally:
        now = loop.time()
        for clock, left_s in stopped:
            clock.reschedule(now + left_s)

        waited = _waited_s.get()
        if waited is not None:
            waited[0] += now - began


@contextmanager
def waits() -> Iterator[Callable[[], float]]:
    """Gives the seconds that `nobodys_time` has taken so far in here."""
    waited = [0.0]
    outside = _waited_s.set(waited)

    try:
        yield lambda: waited[0]
    finally:
        _waited_s.reset(outside)


@asynccontextmanager
async def core() -> AsyncIterator[None]:
    """One of the machine's cores, for a command that computes: as many are under way at a time as
    there are cores (two at least), and who waits for one loses no time of its own. So what a
    command comes to does not depend on how many others were begun.
    """
    loop = asyncio.get_running_loop()
    if loop not in _CORES:
        _CORES[loop] = asyncio.Semaphore(max(2, os.cpu_count() or 2))

    cores = _CORES[loop]
    with nobodys_time():
        await cores.acquire()

    try:
        yield
    finally:
        cores.release()
