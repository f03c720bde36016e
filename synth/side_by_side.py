"""Several workers on one queue of work; the first error stops them all."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

_stopping: ContextVar[Callable[[], bool]] = ContextVar("stopping")


async def run_workers(count: int, worker: Callable[[], Awaitable[None]]) -> None:
    """Runs `count` workers until all are through. Raises the first error of any, after the others
    were cancelled.
    """
    failed = False
    parent, outer = asyncio.current_task(), _stopping.get(lambda: False)

    def stopping() -> bool:
        return failed or outer() or (parent is not None and parent.cancelling() > 0)

    async def one() -> None:
        nonlocal failed
        _stopping.set(stopping)
        try:
            await worker()
        except BaseException:
            failed = True
            raise

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(one())
    except BaseExceptionGroup as errors:
        raise _first(errors) from None


def being_stopped() -> bool:
    """Whether the worker that asks is being stopped, so that a cancellation is meant; outside of
    workers every one is.
    """
    return _stopping.get(lambda: True)()


def stops_alone() -> None:
    """Makes a cancellation of the current task alone one that is meant."""
    task, outer = asyncio.current_task(), _stopping.get(lambda: False)
    _stopping.set(lambda: outer() or (task is not None and task.cancelling() > 0))


def _first(errors: BaseException) -> BaseException:
    while isinstance(errors, BaseExceptionGroup):
        errors = errors.exceptions[0]
    return errors
