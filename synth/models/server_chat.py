"""A chat model behind servers: what stands above every transport, from the request's body to the
reply as a completion.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from synth.keys.remover import MARK, KeyRemover
from synth.loop_lag import lagged_s
from synth.models.admission import ConcurrencyLimit
from synth.models.backoff import Backoff, RetryBudget, with_retries
from synth.models.chat_request import request_body
from synth.models.key_in_parts import joined_without_key, key_removed
from synth.models.replayed import SeenReplies
from synth.models.reply import read_replies
from synth.models.reply_health import call_lost
from synth.models.server_error import ServerError, unusable
from synth.models.settings import ModelSettings
from synth.models.tool_call_recovery import with_recovered_calls
from synth.schemas.model import Completion, Message, Sampling
from synth.schemas.trajectory import ToolSchema

T = TypeVar("T")
TRIES_WHERE_NOTHING_EVER_ANSWERED = 2
"""Of a call that finds nothing listening: that is a mistake in the address or a server that is not
up, not an outage to be waited for.
"""


class Post(msgspec.Struct):
    """One request over all its tries: where it goes (`beside` the base path, or below it), its
    body, the conversation in it, and the servers that have failed it so far.
    """

    path: str
    body: bytes
    messages: Sequence[Message]
    beside: bool = False
    failed_at: set[int] = msgspec.field(default_factory=set)


class Received(msgspec.Struct, frozen=True):
    """The body of an answer, and the weights behind it where the transport knows them better than
    the answer; whether a key was taken out of the body.
    """

    body: bytes
    weights_id: str | None = None
    key_removed: bool = False


class Transport(Protocol):
    """Carries requests to a server, or to one of several. Raises `ServerError`."""

    @property
    def room(self) -> int: ...
    async def post(self, post: Post, timeout_s: float) -> Received: ...
    async def close(self) -> None: ...


class Pacing(msgspec.Struct, frozen=True):
    """Chance and time as arguments: `draw` in [0, 1), `clock` in seconds that only grow, `now` in
    seconds since 1970.
    """

    draw: Callable[[], float]
    sleep: Callable[[float], Awaitable[object]]
    clock: Callable[[], float]
    now: Callable[[], float]


class ServerChat:
    """One model behind one transport. Raises `ServerError` (a `ModelError`) when tries or time are
    used up.

    Tries, not calls, are bounded by the room that the servers have: a call that backs off leaves it
    to another. The wait for room is nobody's fault, and counts neither as latency nor as part of
    `total_timeout_s`. `also` goes into every request's body, without being part of the work's
    identity as `Sampling` is; `spelled` gives the messages as the server reads them.
    """

    def __init__(
        self,
        transport: Transport,
        settings: ModelSettings,
        key: str,
        pacing: Pacing,
        also: Mapping[str, Any] | None = None,
        spelled: Callable[[Sequence[Message]], Sequence[Message]] = lambda messages: messages,
    ) -> None:
        self._transport = transport
        self._settings = settings
        self._pacing = pacing
        self._also = dict(also or {})
        self.spelled = spelled
        self._backoff = Backoff(max_retries=settings.max_retries, total_s=settings.total_timeout_s)
        self._budget = RetryBudget(pacing.clock)
        self._remover = KeyRemover({MARK: key})
        self._answered = False
        self._seen = SeenReplies()
        self._gate = ConcurrencyLimit(settings.max_in_flight, lambda: transport.room)

    @property
    def name(self) -> str:
        """The model's name as the server knows it."""
        return self._settings.model

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], sampling: Sampling
    ) -> Completion:
        """One reply; `latency_ms` is that of the try that succeeded, without the time for which our
        own event loop stood still.
        """
        (completion,) = await self._asked(messages, tools, sampling, 1, self._also)
        return completion

    async def complete_n(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], sampling: Sampling, n: int
    ) -> tuple[Completion, ...]:
        """`n` replies to one request, whose prompt the server reads once; the usage of all stands
        at the first.
        """
        return await self._asked(messages, tools, sampling, n, {**self._also, "n": n})

    async def _asked(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        sampling: Sampling,
        n: int,
        also: Mapping[str, Any],
    ) -> tuple[Completion, ...]:
        body = request_body(self.name, self.spelled(messages), tools, sampling, also)

        def read(received: Received, latency_ms: float) -> tuple[Completion, ...]:
            replies = read_replies(
                received.body,
                messages,
                n=n,
                price=self._settings.price,
                latency_ms=latency_ms,
                seen=self._seen,
            )
            finished = tuple(self._finished(reply, received, messages, tools) for reply in replies)
            lost = next(
                (
                    why
                    for one in finished
                    if (why := call_lost(one.finish_reason, len(one.tool_calls), len(tools)))
                ),
                None,
            )
            if lost is not None:
                raise unusable(received.body, lost)
            return finished

        return await self.request("/chat/completions", body, messages, read)

    async def request(
        self,
        path: str,
        body: bytes,
        messages: Sequence[Message],
        read: Callable[[Received, float], T],
        *,
        beside: bool = False,
    ) -> T:
        """What `read` makes of the answer without the key (with its latency in ms); one that it
        refuses by a `ServerError` is asked for again.
        """
        pacing, post, waited_s, refused = self._pacing, Post(path, body, messages, beside), 0.0, 0

        def working() -> float:
            return pacing.clock() - waited_s

        async def attempt(left_s: float) -> T:
            nonlocal waited_s, refused
            came = pacing.clock()
            async with self._gate:
                began, lagged = pacing.clock(), lagged_s()
                waited_s += began - came
                try:
                    received = await self._transport.post(
                        post, min(self._settings.timeout_s, left_s)
                    )
                except ServerError as error:
                    refused += self._never_there(error)
                    if refused < TRIES_WHERE_NOTHING_EVER_ANSWERED:
                        raise
                    absent = error.after(refused)
                    absent.retryable = False
                    raise absent from error
            latency_ms = max(pacing.clock() - began - (lagged_s() - lagged), 0.0) * 1000
            answer = read(self._without_key(received), latency_ms)
            self._answered = True
            self._budget.answered()
            return answer

        return await with_retries(
            attempt,
            self._backoff,
            draw=pacing.draw,
            sleep=pacing.sleep,
            clock=working,
            budget=self._budget,
            free=self._free,
        )

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    def _free(self, error: ServerError) -> bool:
        """Whether a failure counts as no try, because it cost the server nothing."""
        return error.turned_away

    def _never_there(self, error: ServerError) -> bool:
        """Whether nothing listened, and nothing has answered before."""
        return error.turned_away and error.status is None and not self._answered

    def _without_key(self, received: Received) -> Received:
        body = self._remover.clean(received.body)
        return received if body is received.body else replace(received, body=body, key_removed=True)

    def _finished(
        self,
        reply: Completion,
        received: Received,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
    ) -> Completion:
        """The reply as its reader gets it; texts are searched for the key whenever parts were put
        together.
        """
        if received.weights_id is not None:
            reply = replace(reply, weights_id=received.weights_id)
        joined = joined_without_key(
            key_removed(reply) if received.key_removed else reply, self._remover
        )
        return (
            joined_without_key(with_recovered_calls(joined, messages, tools), self._remover)
            if tools
            else joined
        )
