"""A value that is found once, by whoever asks for it first."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """Awaited by all who ask; where finding it failed, the next one who asks tries again."""

    def __init__(self, find: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._find = find
        self._finding: asyncio.Task[T] | None = None

    async def __call__(self) -> T:
        """The value. Raises what finding it raised."""
        finding = self._finding
        if finding is None or (
            finding.done() and (finding.cancelled() or finding.exception() is not None)
        ):
            finding = self._finding = asyncio.create_task(self._find())
        return await asyncio.shield(finding)
