"""Several workers on one queue of work; the first error stops them all."""

import asyncio
from collections.abc import Awaitable, Callable


async def side_by_side(count: int, worker: Callable[[], Awaitable[None]]) -> None:
    """Runs `count` workers until all are through. Raises the first error of any, after the others were cancelled."""

    async def one() -> None:
        await worker()

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(one())
    except BaseExceptionGroup as errors:
        raise _first(errors) from None


def _first(errors: BaseException) -> BaseException:
    while isinstance(errors, BaseExceptionGroup):
        errors = errors.exceptions[0]
    return errors
