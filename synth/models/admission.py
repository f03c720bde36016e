"""Admission: a bound on the calls in flight, first come first served, per call and not per
episode.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from synth.boundary import NotStarted
from synth.schemas import (
    ChatModel,
    Completion,
    Messages,
    Sampling,
    Scored,
    ScoringModel,
    ToolSchemas,
)


class ConcurrencyLimit:
    """A gate that lets at most `limit` callers through at a time, in the order in which they came;
    fewer where `room` says so.

    A caller that is cancelled while it waits, or in the moment of its admission, loses nobody's
    place. `async with gate: ...`
    """

    def __init__(self, limit: int, room: Callable[[], int] | None = None) -> None:
        if limit < 1:
            raise ValueError(f"admission of {limit} calls: at least one must be let through")
        self.limit = limit
        self._room = room
        self.in_flight = 0
        self.waiting = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if not self._queue and self.in_flight < self._most():
            self.in_flight += 1
            return
        place = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        self._admit()
        self.waiting += 1
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():
                await self.__aexit__()
            raise
        finally:
            self.waiting -= 1

    async def __aexit__(self, *_: object) -> None:
        self.in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        """Hands free places to those who wait, the first first: a place is never free while
        somebody waits, so nobody jumps the queue.
        """
        while self._queue and self.in_flight < self._most():
            place = self._queue.popleft()
            if not place.done():
                self.in_flight += 1
                place.set_result(None)

    def _most(self) -> int:
        return self.limit if self._room is None else max(1, min(self.limit, self._room()))


class AdmittedChat:
    """A chat model behind a gate. A call that backs off keeps its place: an overloaded server is
    asked by fewer.
    """

    def __init__(
        self,
        model: ChatModel,
        admission: ConcurrencyLimit,
        may_begin: Callable[[], bool] | None = None,
    ) -> None:
        self._model = model
        self._may_begin = may_begin
        self.admission = admission

    def for_episode(self, may_begin: Callable[[], bool]) -> "AdmittedChat":
        """The same model behind the same gate for one episode: whether it may begin is asked again
        once its first call is let through.
        """
        return AdmittedChat(self._model, self.admission, may_begin)

    @property
    def name(self) -> str:
        """The model's own name."""
        return self._model.name

    async def complete(
        self, messages: Messages, tools: ToolSchemas, sampling: Sampling
    ) -> Completion:
        """Waits for admission, then asks the model. Raises `ModelError`, and `NotStarted` where the
        episode may not begin.
        """
        async with self.admission:
            if self._may_begin is not None and not self._may_begin():
                raise NotStarted
            self._may_begin = None
            return await self._model.complete(messages, tools, sampling)

    async def close(self) -> None:
        """Closes the model."""
        await self._model.close()


class AdmittedScoring:
    """A scoring model behind a gate of its own: texts are as long as episodes, and a server that
    holds many at once answers late.
    """

    def __init__(self, model: ScoringModel, admission: ConcurrencyLimit) -> None:
        self._admission = admission
        self._model = model
        self.close = model.close

    async def score(self, messages: Messages, tools: ToolSchemas) -> Scored:
        """Waits for admission, then scores. Raises `ModelError`."""
        async with self._admission:
            return await self._model.score(messages, tools)
