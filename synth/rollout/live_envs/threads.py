"""Blocking worlds step on as many daemon threads as cores, so that the event loop stays free.

Not a `ThreadPoolExecutor`: it joins its threads at exit, and a world that hangs would hold the
process for ever.
"""

import asyncio
import os
import queue
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from synth.rollout.live_envs.env_calls import forwarded
from synth.schemas import Env, EnvSpec

T = TypeVar("T")
_Job = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class Threads:
    """A fixed number of daemon threads; a thread that is given up on (its answer came too late) is
    replaced.
    """

    def __init__(self, count: int | None = None) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        for _ in range(count or os.cpu_count() or 1):
            self._start()

    def _start(self) -> None:
        threading.Thread(target=self._serve, daemon=True, name="world").start()

    def _serve(self) -> None:
        while True:
            job, loop, future = self._jobs.get()
            if future.cancelled():
                continue
            settled: Callable[[], None]
            try:
                settled = partial(future.set_result, job())
            except BaseException as error:  # noqa: BLE001
                # handed as it is to the coroutine that waits for it
                settled = partial(future.set_exception, error)
            if future.cancelled():
                return
            loop.call_soon_threadsafe(_settle, future, settled)

    async def run(self, job: Callable[[], Awaitable[T]]) -> T:
        """Runs a coroutine of a world to its end on a thread; cancelling gives the thread up and
        starts another.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        started = threading.Event()

        def work() -> T:
            started.set()
            return asyncio.run(_awaited(job))

        self._jobs.put((work, loop, future))
        try:
            return await future
        except asyncio.CancelledError:
            # given up; a world may also raise a CancelledError of its own
            if future.cancelled() and started.is_set():
                self._start()
            raise


async def _awaited(job: Callable[[], Awaitable[T]]) -> T:
    return await job()


def _settle(future: "asyncio.Future[Any]", settled: Callable[[], None]) -> None:
    if not future.done():
        settled()


class ThreadedEnv:
    """A blocking world, each of whose methods runs on a thread."""

    def __init__(self, env: Env, threads: Threads) -> None:
        self._env = env
        self._threads = threads

    @property
    def spec(self) -> EnvSpec:
        """The world's own."""
        return self._env.spec

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        """The methods of `Env`."""
        return forwarded(name, lambda call: self._threads.run(lambda: call(self._env)))
