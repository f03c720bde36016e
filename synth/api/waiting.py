"""Waits for a coroutine from code that is none, whether or not an event loop is running there (a
notebook's is).
"""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


def waited(work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives or raises. Where a loop is running it has a thread and a loop of its own.

    An interrupt of the caller cancels it, as one of a program of its own does, and is raised once
    it has ended.
    """
    if not _in_a_loop():
        return asyncio.run(work)
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()
    ended: Future[T] = Future()
    thread = Thread(target=_carried_out, args=(work, begun, ended), name="synth")
    thread.start()
    try:
        return ended.result()
    except KeyboardInterrupt:
        loop, task = begun.result()
        if not loop.is_closed():
            loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _carried_out(
    work: Coroutine[Any, Any, T],
    begun: "Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]]",
    ended: "Future[T]",
) -> None:
    async def main() -> T:
        task = asyncio.current_task()
        assert task is not None
        begun.set_result((asyncio.get_running_loop(), task))
        return await work

    try:
        ended.set_result(asyncio.run(main()))
    except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
        ended.set_exception(error)
