"""One server of a fleet: whether it is well, how many calls it has room for, which weights it
serves.
"""

import asyncio
import logging
import math
from collections.abc import Coroutine
from typing import Any

from synth.models.backoff import Pacing
from synth.models.server_error import ServerError
from synth.models.servers.adaptive_limit import AdaptiveLimit
from synth.models.servers.chat_request import Post, Received
from synth.models.servers.circuit import Circuit
from synth.models.servers.http_server import HTTPServer
from synth.models.servers.model_card import queue, weights_id
from synth.models.settings import ModelSettings

MISPLACED = frozenset({401, 403, 404})
"""What a server answers that was set up wrongly; another one of the fleet may be right."""
NOT_OFFERED = frozenset({404, 405, 501})
MEASURED_EVERY_S = 5.0
"""How often a server that is asked shows its queue and says what it serves; how long the latter
holds on connections that stay.
"""
PROBE_TIMEOUT_S = 10.0
_LOG = logging.getLogger(__name__)


class FleetMember:
    """A server, and what is known about it now: the weights that it said at `_told_at` (`-inf`:
    never yet) it serves. One that is not `watched` is asked for replies and nothing else.
    """

    def __init__(
        self, server: HTTPServer, settings: ModelSettings, pacing: Pacing, watched: bool
    ) -> None:
        self.server = server
        self.circuit = Circuit(pacing.clock)
        self.limit = AdaptiveLimit(settings.max_in_flight, where=server.where(), clock=pacing.clock)
        self.in_flight = 0
        self._settings = settings
        self._clock = pacing.clock
        self._watched = watched
        self._weights_id: str | None = None
        self._told_at = -math.inf if watched else math.inf
        self._connected_at = -math.inf
        self._measured_next = pacing.clock() + MEASURED_EVERY_S if watched else math.inf
        self._has_answered, self._shows_queue = False, True
        self._greeting: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        if watched:
            server.connecting = self._connecting

    async def asked(self, post: Post, ends: float) -> Received:
        """The answer, and the weights that gave it. Raises `ServerError`.

        A process that answered a call has lived since its connection was opened. So what it said
        since the call began is of these weights; what it said before is where no connection was
        opened since, and for five seconds, because a proxy keeps connections when it changes what
        stands behind it.
        """
        self.in_flight += 1
        try:
            if self._told_at == -math.inf:
                await self._greeted(ends - self._clock())
            began, told_at, told = self._clock(), self._told_at, self._weights_id
            if began >= self._measured_next:
                self._measured_next = began + MEASURED_EVERY_S
                self._in_background(self._measured())
            body = await self.server.post(post.path, post.body, ends - began, beside=post.beside)
        finally:
            self.in_flight -= 1
        self.limit.answered(self._clock() - began)
        if self.circuit.open:
            _LOG.warning(f"{self.server.where()} is well again")
        self.circuit.answered()
        self._has_answered = True
        holds_from = min(began, max(began - MEASURED_EVERY_S, self._connected_at))
        if told_at < holds_from:
            # in vain at most once: when the request under way was sent before the call
            while self._told_at < holds_from:
                await self._greeted(PROBE_TIMEOUT_S)
            told = self._weights_id
        return Received(body, told)

    def failed(self, error: ServerError, *, alone: bool) -> None:
        """Notes what a failure says about the server; one that was out may come back with other
        weights.
        """
        self.limit.failed(error)
        broke = error.retryable and (error.status is None or error.status >= 500)
        misplaced = not alone and error.status in MISPLACED
        if not self._watched or not (broke or misplaced):
            return
        absent = error.turned_away and error.status is None
        if self.circuit.failed(at_once=misplaced or absent):
            self._told_at, self._shows_queue = -math.inf, True
            if not alone:
                _LOG.warning(f"{error}; it is left out until it is well again")
            elif self._has_answered:
                most_s = self._settings.total_timeout_s
                _LOG.warning(f"{error}; calls wait for it, each up to {most_s:g} s")

    def probe_where_due(self) -> None:
        """Looks in the background whether a server that is left out is well again."""
        if self.circuit.due():
            self._in_background(self._probed())

    async def close(self) -> None:
        """Ends what runs in the background, and closes the connections."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.server.close()

    def _connecting(self) -> None:
        """A call opens a connection: whoever is at its other end is asked while it works what it
        serves.
        """
        self._connected_at = self._clock()
        self._greet()

    def _greet(self) -> "asyncio.Task[None]":
        """The request for what the server serves: one at a time, for all who wait."""
        if self._greeting is None:
            self._greeting = self._in_background(self._introduced())
        return self._greeting

    async def _greeted(self, timeout_s: float) -> None:
        """Waits until the server has said what it serves. Raises `ServerError`."""
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.shield(self._greet())
        except TimeoutError as error:
            late = f"no reply within {timeout_s:.3g} s"
            raise self.server.failed(late, timeout=True) from error

    async def _introduced(self) -> None:
        asked_at, found = self._clock(), None
        try:
            body = await self._page("/models", self._settings.timeout_s, beside=False)
            if body is not None:
                found = weights_id(body, self._settings.model, self.server.where())
            self._weights_id, self._told_at = found, asked_at
        finally:
            self._greeting = None

    async def _probed(self) -> None:
        """Closes an open circuit where the server is healthy and serves the model."""
        try:
            await self._page("/health")
            await self._greeted(PROBE_TIMEOUT_S)
        except ServerError:
            return
        self.circuit.probed_well()
        _LOG.warning(f"{self.server.where()} is well again")

    async def _measured(self) -> None:
        """Asks again what the server serves, and reads its queue, where it shows one."""
        try:
            await self._greeted(PROBE_TIMEOUT_S)
        except ServerError:
            self._told_at = -math.inf
        if not self._shows_queue:
            return
        found = None
        try:
            found = queue(await self._page("/metrics") or b"")
            self._shows_queue = found is not None
        except ServerError:
            pass  # a bad moment: it may show its queue again
        if found is None:
            self.limit.queue_unknown()
        else:
            self.limit.queued(*found)

    async def _page(
        self, path: str, timeout_s: float = PROBE_TIMEOUT_S, *, beside: bool = True
    ) -> bytes | None:
        """What the server shows there, None where it has no such page. Raises `ServerError`."""
        try:
            return await self.server.get(path, timeout_s, beside=beside)
        except ServerError as error:
            if error.status in NOT_OFFERED:
                return None
            raise

    def _in_background(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # those who wait for it have it; else nobody has to know
