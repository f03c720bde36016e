"""One or several servers of the same model as one transport: conversations stay where their prefix
is, servers that fail are left out.
"""

import asyncio
import logging
import math
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any, NamedTuple

from synth.models.adaptive_limit import AdaptiveLimit
from synth.models.bounded_load import chosen
from synth.models.chat_request import opening_key
from synth.models.circuit import Circuit
from synth.models.http_server import HTTPServer
from synth.models.model_card import queue, weights_id
from synth.models.server_chat import Pacing, Post, Received
from synth.models.server_error import ServerError
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


class _Card(NamedTuple):
    """The weights that a server said it serves, and when it was asked."""

    weights_id: str | None
    asked_at: float

    def holds(self, began: float, connected_at: float) -> bool:
        """Whether these are the weights behind a call that began then, and has just been answered.

        A process that answered a call has lived since its connection was opened. So a card asked
        for since the call began is its own; an older one is where no connection was opened since,
        and for five seconds, because a proxy keeps connections when it changes what stands behind
        it.
        """
        return self.asked_at >= began or self.asked_at >= max(
            began - MEASURED_EVERY_S, connected_at
        )


class _Member:
    """One server of the fleet, and what is known about it now."""

    def __init__(
        self, index: int, server: HTTPServer, settings: ModelSettings, pacing: Pacing
    ) -> None:
        self.index = index
        self.server = server
        self.circuit = Circuit(pacing.clock)
        self.limit = AdaptiveLimit(settings.max_in_flight, where=server.where(), clock=pacing.clock)
        self.in_flight = 0
        self.card = _Card(None, -math.inf)
        self.connected_at = -math.inf
        self.known = self.has_answered = False
        self.greeting: asyncio.Task[None] | None = None
        self.shows_queue = True
        self.measured_next = pacing.clock() + MEASURED_EVERY_S


class Fleet:
    """A transport over servers that serve the same model.

    A conversation goes to the server that its opening prefers (bounded_load). A server that turns a
    call away, or that is set up wrongly, passes it on to the next at once; after other failures the
    further tries prefer servers that have not failed this call. Circuits that are open are probed
    in the background. Where none is closed, calls are tried as if all were.
    """

    def __init__(
        self, servers: Sequence[HTTPServer], settings: ModelSettings, pacing: Pacing
    ) -> None:
        self._members = [_Member(i, server, settings, pacing) for i, server in enumerate(servers)]
        self._settings = settings
        self._pacing = pacing
        self._tasks: set[asyncio.Task[None]] = set()
        for member in self._members:
            member.server.connecting = partial(self._connecting, member)

    @property
    def room(self) -> int:
        """Calls that the servers have room for, at most `max_in_flight`."""
        if len(self._members) == 1:
            return self._members[0].limit.limit
        closed = [member for member in self._members if not member.circuit.open] or self._members
        return min(self._settings.max_in_flight, sum(member.limit.limit for member in closed))

    async def post(self, post: Post, timeout_s: float) -> Received:
        """One try, at one server after the other where they turn it away. Raises `ServerError`."""
        ends = self._pacing.clock() + timeout_s
        for member in self._members:
            if member.circuit.due():
                self._in_background(self._probed(member))
        passed_by: set[int] = set()
        while True:
            member = self._chosen(post, passed_by)
            try:
                return await self._asked(member, post, ends - self._pacing.clock())
            except ServerError as error:
                self._note(member, error)
                passed_by.add(member.index)
                elsewhere = any(
                    not other.circuit.open and other.index not in passed_by
                    for other in self._members
                )
                in_time = self._pacing.clock() < ends
                if not (elsewhere and in_time and (error.turned_away or error.status in MISPLACED)):
                    post.failed_at.add(member.index)
                    raise

    async def close(self) -> None:
        """Ends what runs in the background, and closes the connections."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for member in self._members:
            await member.server.close()

    def _chosen(self, post: Post, passed_by: set[int]) -> _Member:
        left = [member for member in self._members if member.index not in passed_by]
        closed = [member for member in left if not member.circuit.open] or left
        pool = [member for member in closed if member.index not in post.failed_at] or closed
        if len(pool) == 1:
            return pool[0]
        by_url = {member.server.url: member for member in pool}
        in_flight = {url: member.in_flight for url, member in by_url.items()}
        room = {url: member.limit.limit for url, member in by_url.items()}
        return by_url[chosen(opening_key(post.messages), in_flight, room)]

    async def _asked(self, member: _Member, post: Post, timeout_s: float) -> Received:
        clock = self._pacing.clock
        member.in_flight += 1
        try:
            began = clock()
            if not member.known:
                await self._greeted(member, timeout_s)
                timeout_s -= clock() - began
                began = clock()
            card = member.card
            if began >= member.measured_next:
                member.measured_next = began + MEASURED_EVERY_S
                self._in_background(self._measured(member))
            body = await member.server.post(post.path, post.body, timeout_s, beside=post.beside)
        finally:
            member.in_flight -= 1
        now = clock()
        member.limit.answered(now - began)
        if member.circuit.open:
            _LOG.warning("%s is well again", member.server.where())
        member.circuit.answered()
        member.has_answered = True
        connected_at = member.connected_at
        if not card.holds(began, connected_at):
            while not member.card.holds(
                began, connected_at
            ):  # in vain at most once: when the request under way was sent before the call
                await self._greeted(member, PROBE_TIMEOUT_S)
            card = member.card
        return Received(body, card.weights_id)

    def _connecting(self, member: _Member) -> None:
        """A call opens a connection: whoever is at its other end is asked while it works what it
        serves.
        """
        member.connected_at = self._pacing.clock()
        if member.greeting is None:
            member.greeting = self._in_background(self._introduced(member))

    def _note(self, member: _Member, error: ServerError) -> None:
        """What a failure says about its server; a server that was out may come back with other
        weights.
        """
        member.limit.failed(error)
        broke = error.status is None or error.status >= 500
        misplaced = len(self._members) > 1 and error.status in MISPLACED
        if not (broke and error.retryable) and not misplaced:
            return
        if member.circuit.failed(at_once=misplaced or (error.turned_away and error.status is None)):
            member.known = False
            member.shows_queue = True
            if len(self._members) > 1:
                _LOG.warning("%s; it is left out until it is well again", error)
            elif member.has_answered:
                _LOG.warning(
                    "%s; calls wait for it, each up to %g s", error, self._settings.total_timeout_s
                )

    async def _greeted(self, member: _Member, timeout_s: float) -> None:
        """Waits until the server has said what it serves; all calls wait for one request. Raises
        `ServerError`.
        """
        if member.greeting is None:
            member.greeting = self._in_background(self._introduced(member))
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.shield(member.greeting)
        except TimeoutError:
            failure = member.server.failed(f"no reply within {timeout_s:.3g} s", timeout=True)
        else:
            return
        raise failure

    async def _introduced(self, member: _Member) -> None:
        where, asked_at = member.server.where(), self._pacing.clock()
        try:
            try:
                body = await member.server.get("/models", self._settings.timeout_s)
            except ServerError as error:
                if error.status not in NOT_OFFERED:
                    raise
                member.card = _Card(None, asked_at)
            else:
                member.card = _Card(weights_id(body, self._settings.model, where), asked_at)
            member.known = True
        finally:
            member.greeting = None

    async def _probed(self, member: _Member) -> None:
        """Closes an open circuit where the server is healthy and serves the model."""
        try:
            await member.server.get("/health", PROBE_TIMEOUT_S, beside=True)
        except ServerError as error:
            if error.status not in NOT_OFFERED:
                return
        try:
            await self._greeted(member, PROBE_TIMEOUT_S)
        except ServerError:
            return
        member.circuit.probed_well()
        _LOG.warning("%s is well again", member.server.where())

    async def _measured(self, member: _Member) -> None:
        """Asks again what the server serves, and reads its queue, where it shows one."""
        try:
            await self._greeted(member, PROBE_TIMEOUT_S)
        except ServerError:
            member.known = False
        if not member.shows_queue:
            return
        try:
            found = queue(await member.server.get("/metrics", PROBE_TIMEOUT_S, beside=True))
        except ServerError as error:
            found, member.shows_queue = None, error.status not in NOT_OFFERED
        else:
            member.shows_queue = found is not None
        if found is None:
            member.limit.queue_unknown()
        else:
            member.limit.queued(*found)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # those who wait for it have it; else nobody has to know
