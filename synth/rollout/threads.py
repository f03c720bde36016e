"""Blocking worlds step on as many daemon threads as cores, so that the event loop stays free.

Not a `ThreadPoolExecutor`: it joins its threads at exit, and a world that hangs would hold the
process for ever.
"""

import asyncio
import concurrent.futures
import os
import queue
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from synth.schemas.check import CheckResult, Facts
from synth.schemas.environment import AgentTurn, Env, EnvSpec, Opening, Response, Snapshot
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory

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
            finished: concurrent.futures.Future[Any] = concurrent.futures.Future()
            finished.set_running_or_notify_cancel()
            try:
                finished.set_result(job())
            except BaseException as error:  # noqa: BLE001 - handed as it is to the coroutine that waits for it
                finished.set_exception(error)
            if future.cancelled():
                return
            loop.call_soon_threadsafe(_settle, future, finished)

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
            if (
                future.cancelled() and started.is_set()
            ):  # given up; a world may also raise a CancelledError of its own
                self._start()
            raise


async def _awaited(job: Callable[[], Awaitable[T]]) -> T:
    return await job()


def _settle(future: "asyncio.Future[Any]", finished: "concurrent.futures.Future[Any]") -> None:
    if future.done():
        return
    error = finished.exception()
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(finished.result())


class ThreadedEnv:
    """A blocking world, each of whose methods runs on a thread."""

    def __init__(self, env: Env, threads: Threads) -> None:
        self._env = env
        self._threads = threads

    @property
    def spec(self) -> EnvSpec:
        """The world's own."""
        return self._env.spec

    async def reset(self, task: Task | None) -> Opening:
        """See `Env`; so for all that follow."""
        return await self._threads.run(lambda: self._env.reset(task))

    async def step(self, turn: AgentTurn) -> Response:
        """On a thread."""
        return await self._threads.run(lambda: self._env.step(turn))

    async def check(self) -> CheckResult:
        """On a thread."""
        return await self._threads.run(self._env.check)

    async def close(self) -> None:
        """On a thread."""
        await self._threads.run(self._env.close)

    async def affordances(self) -> Sequence[AgentTurn]:
        """On a thread."""
        return await self._threads.run(self._env.affordances)

    async def facts(self) -> Facts:
        """On a thread."""
        return await self._threads.run(self._env.facts)

    async def snapshot(self) -> Snapshot:
        """On a thread."""
        return await self._threads.run(self._env.snapshot)

    async def restore(self, snapshot: Snapshot) -> None:
        """On a thread."""
        await self._threads.run(lambda: self._env.restore(snapshot))

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        """On a thread."""
        return await self._threads.run(lambda: self._env.expert(profile, seed))

    async def recheck(self, task: Task, trajectory: Trajectory) -> CheckResult:
        """On a thread."""
        return await self._threads.run(lambda: self._env.recheck(task, trajectory))
