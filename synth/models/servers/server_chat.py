"""A chat model behind servers: what stands above the transport, from the request's body to the
reply as a completion.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from synth.keys.remover import KEY_REMOVED, MARK, KeyRemover
from synth.loop_lag import lagged_s
from synth.models.admission import ConcurrencyLimit
from synth.models.backoff import Backoff, Pacing, RetryBudget, with_retries
from synth.models.replies.replayed import SeenReplies
from synth.models.replies.reply import read_replies
from synth.models.replies.tool_call_recovery import read_apart, with_recovered_calls
from synth.models.reply_health import CALLS
from synth.models.server_error import unusable
from synth.models.servers.chat_request import Post, Received, request_body
from synth.models.settings import ModelSettings, api_key
from synth.schemas import Completion, Messages, Sampling, ToolSchemas
from synth.text.calls.found import UNREAD

T = TypeVar("T")


class Transport(Protocol):
    """What carries a request to a model and back; `room` is for how many at a time."""

    @property
    def room(self) -> int: ...
    async def post(self, post: Post, timeout_s: float) -> Received:
        """One try. Raises `ServerError`."""

    async def close(self) -> None: ...


class Process(Protocol):
    """A process of the client's own that holds the model."""

    async def serving(self, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What `call()` gives, begun when the model can be asked."""

    async def close(self) -> None: ...


class ServerChat:
    """One model behind one transport. Raises `ServerError` (a `ModelError`) when tries or time are
    used up.

    Tries, not calls, are bounded by the room that the servers have: a call that backs off leaves it
    to another. The wait for room is nobody's fault, and counts neither as latency nor as part of
    `total_timeout_s`. `also` goes into every request's body, without being part of the work's
    identity as `Sampling` is; `spelled` gives the messages as the server reads them, `fitted` the
    form to which it is to hold the reply. Where the server is a `process` of the client's own,
    calls wait while it starts.
    """

    def __init__(
        self,
        transport: Transport,
        settings: ModelSettings,
        pacing: Pacing,
        *,
        also: Mapping[str, Any] | None = None,
        spelled: Callable[[Messages], Messages] = lambda messages: messages,
        fitted: Callable[[Sampling], Sampling] = lambda sampling: sampling,
        process: Process | None = None,
    ) -> None:
        self._transport = transport
        self._settings = settings
        self._pacing = pacing
        self._also = dict(also or {})
        self.spelled = spelled
        self._fitted = fitted
        self._process = process
        self._backoff = Backoff(max_retries=settings.max_retries, total_s=settings.total_timeout_s)
        self._budget = RetryBudget(pacing.clock)
        self._remover = KeyRemover({MARK: api_key(settings)})
        self._seen = SeenReplies()
        self._gate = ConcurrencyLimit(settings.max_in_flight, lambda: transport.room)

    @property
    def name(self) -> str:
        """The model's name as the server knows it."""
        return self._settings.model

    async def complete(
        self, messages: Messages, tools: ToolSchemas, sampling: Sampling
    ) -> Completion:
        """One reply; `latency_ms` is that of the try that succeeded, without the time for which our
        own event loop stood still.
        """
        (completion,) = await self.complete_n(messages, tools, sampling, 1)
        return completion

    async def complete_n(
        self, messages: Messages, tools: ToolSchemas, sampling: Sampling, n: int
    ) -> tuple[Completion, ...]:
        """`n` replies to one request, whose prompt the server reads once; the usage of all stands
        at the first.
        """
        also = self._also if n == 1 else {**self._also, "n": n}
        fitted = self._fitted(sampling)
        body = request_body(self.name, self.spelled(messages), tools, fitted, also)

        def read(received: Received) -> tuple[Completion, ...]:
            price = self._settings.price
            found = read_replies(received.body, messages, n=n, price=price, seen=self._seen)
            return tuple(self._finished(one, received, messages, tools) for one in found)

        return await self.request(Post("/chat/completions", body, messages), read)

    def _finished(
        self, reply: Completion, received: Received, messages: Messages, tools: ToolSchemas
    ) -> Completion:
        """A reply as its reader gets it; texts are searched for the key whenever parts were put
        together. Raises `ServerError` where it ended by a call that is not in it.
        """
        weights_id = received.weights_id or reply.weights_id
        reply = replace(reply, weights_id=weights_id, latency_ms=received.latency_ms)
        reply = without_key(reply, self._remover, taken_out=received.key_removed)
        if not tools:
            return reply

        recovered = with_recovered_calls(reply, messages, tools)
        reply = without_key(read_apart(recovered, tools), self._remover)
        calls = reply.tool_calls or UNREAD in reply.repairs
        if reply.finish_reason in CALLS and not calls:
            raise unusable(received.body, "it ended by a call, and none is found in it")
        return reply

    async def request(self, post: Post, read: Callable[[Received], T]) -> T:
        """What `read` makes of the answer without the key; one that it refuses by a `ServerError`
        is asked for again.
        """
        pacing, waited_s = self._pacing, 0.0

        async def attempt(left_s: float) -> T:
            nonlocal waited_s
            came = pacing.clock()
            async with self._gate:
                began, lagged = pacing.clock(), lagged_s()
                waited_s += began - came
                received = await self._transport.post(post, min(self._settings.timeout_s, left_s))

            latency_s = pacing.clock() - began - (lagged_s() - lagged)
            body = self._remover.clean(received.body)
            return read(
                Received(
                    body,
                    received.weights_id,
                    key_removed=body is not received.body,
                    latency_ms=max(latency_s, 0.0) * 1000,
                )
            )

        async def tried() -> T:
            working = replace(pacing, clock=lambda: pacing.clock() - waited_s)
            return await with_retries(attempt, self._backoff, self._budget, working)

        return await (tried() if self._process is None else self._process.serving(tried))

    async def close(self) -> None:
        """Closes the connections, and ends the server's process where it is the client's own."""
        await self._transport.close()
        if self._process is not None:
            await self._process.close()


def without_key(reply: Completion, keys: KeyRemover, *, taken_out: bool = False) -> Completion:
    """The reply with the mark where its parts make up a key; `raw` holds these parts, and goes.

    Where that is so, or a key was `taken_out` of the body before, the repair is named, and the
    tokens go too: they spell what was taken out of the text.
    """
    content, thought = (text and keys.clean_text(text) for text in (reply.content, reply.thought))
    joined = (content, thought) != (reply.content, reply.thought)
    if not (joined or taken_out):
        return reply
    return replace(
        reply,
        content=content,
        thought=thought,
        raw=None if joined else reply.raw,
        repairs=tuple(dict.fromkeys((*reply.repairs, KEY_REMOVED))),
        completion_token_ids=None,
        logprobs=None,
    )
