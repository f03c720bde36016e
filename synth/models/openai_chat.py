"""Any provider through the openai package, on its fast path.

`chat.completions.create` walks every message through its type annotations, 3.6 ms of CPU per call at ten messages; `post` with a body
that we encoded and the bare response does not (performance.md, A3). aiohttp carries it: it is the package's own extra, and our core
installs aiohttp.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import aiohttp
import httpx2
import msgspec
import openai

from schemas.errors import ConfigError
from schemas.model import Completion, Message, Sampling
from schemas.trajectory import ToolSchema
from synth.models.backoff import Backoff, retry_after_s, with_retries
from synth.models.reply import error_text, read_reply
from synth.models.secrets import KEY_REMOVED, KeyRemover
from synth.models.server_error import ServerError
from synth.models.settings import NO_KEY, OPENAI_URL, ModelSettings, api_key
from synth.models.tool_call_recovery import with_recovered_calls

RETRYABLE_STATUS = frozenset({408, 409, 429})
"""And every 5xx; all other 4xx say that the request itself is wrong."""
_ENCODER = msgspec.json.Encoder()
_HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
"""Uncompressed replies: their length as received is their length in memory."""
LONGEST_REPLY = 64 * 2**20
"""Bytes; what a server sends beyond them is not read."""
_OVERFLOW_WORDS = ("context length", "context window", "maximum context", "too many tokens", "max_model_len", "prompt is too long")


class OpenAIChat:
    """One model behind an OpenAI-compatible server. Raises `ServerError` (a `ModelError`) when tries or time are used up."""

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        settings: ModelSettings,
        *,
        draw: Callable[[], float],
        sleep: Callable[[float], Awaitable[object]],
        clock: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        self._client = client
        self._settings = settings
        self._backoff = Backoff(max_retries=settings.max_retries, total_s=settings.total_timeout_s)
        self._draw, self._sleep, self._clock, self._now = draw, sleep, clock, now
        self._remover = KeyRemover("" if client.api_key == NO_KEY else client.api_key)

    @property
    def name(self) -> str:
        """The model's name as the server knows it."""
        return self._settings.model

    async def complete(self, messages: Sequence[Message], tools: Sequence[ToolSchema], sampling: Sampling) -> Completion:
        """One reply; `latency_ms` is that of the try that succeeded."""
        body = request_body(self.name, messages, tools, sampling)

        async def attempt(left_s: float) -> Completion:
            started = self._clock()
            received = await self._post(body, min(self._settings.timeout_s, left_s))
            cleaned = self._remover.clean(received)
            reply = read_reply(cleaned, messages, price=self._settings.price, latency_ms=(self._clock() - started) * 1000)
            return reply if cleaned is received else msgspec.structs.replace(reply, repairs=(*reply.repairs, KEY_REMOVED))

        completion = await with_retries(attempt, self._backoff, draw=self._draw, sleep=self._sleep, clock=self._clock)
        return with_recovered_calls(completion, messages) if tools else completion

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.close()

    async def _post(self, body: bytes, timeout_s: float) -> bytes:
        """One try. The failure is raised outside the handlers: openai's errors hold the request, and with it the key."""
        try:
            async with asyncio.timeout(timeout_s):  # httpx's read timeout starts anew with every byte
                response = await self._client.post(
                    "/chat/completions", content=body, cast_to=httpx2.Response, options={"headers": _HEADERS}
                )
                return response.content
        except TimeoutError:
            failure = self._failed(f"no reply within {timeout_s:g} s", timeout=True)
        except openai.APIStatusError as error:
            failure = self._refused(error.response)
        except openai.APIConnectionError as error:
            timed_out = _timed_out(error)
            failure = self._failed(f"{'timeout' if timed_out else 'connection lost'}: {_root(error)}", timeout=timed_out)
        except _TooLongError as error:
            failure = self._failed(str(error), retryable=False)
        except (openai.OpenAIError, aiohttp.ClientError) as error:
            failure = self._failed(f"{type(error).__name__}: {_root(error)}")
        raise failure

    def _failed(self, what: str, *, timeout: bool = False, retryable: bool = True) -> ServerError:
        return ServerError(f"{self._where()}: {what}", retryable=retryable, timeout=timeout)

    def _refused(self, response: httpx2.Response) -> ServerError:
        """What a status of 400 and more means for the caller."""
        status = response.status_code
        message, code = error_text(self._remover.clean(response.content))
        text = f"{self._where()}: HTTP {status}: {message}"
        if status == 401:
            variable = self._settings.key_variable()
            text += (
                f"; look at the key in {variable}" if variable else "; the server wants a key: name its environment variable as api_key_env"
            )
        if status == 404:
            text += f"; look whether base_url ends in /v1, and whether the server has a model named {self.name}"
        overflow = status in (400, 413) and (
            code == "context_length_exceeded" or any(words in message.lower() for words in _OVERFLOW_WORDS)
        )
        return ServerError(
            text,
            retryable=status in RETRYABLE_STATUS or status >= 500,
            timeout=status in (408, 504),
            context_overflow=overflow,
            status=status,
            retry_after_s=retry_after_s(response.headers, self._now()),
        )

    def _where(self) -> str:
        return f"model {self.name} at {self._settings.base_url or OPENAI_URL}"


def request_body(model: str, messages: Sequence[Message], tools: Sequence[ToolSchema], sampling: Sampling) -> bytes:
    """The request as JSON; what `sampling` leaves open is left to the server. Raises `ServerError` for text that is no UTF-8."""
    body: dict[str, Any] = {"model": model, "messages": messages}
    if tools:
        body["tools"] = tools
    for field in ("temperature", "top_p", "max_tokens", "seed"):
        value = getattr(sampling, field)
        if value is not None:
            body[field] = value
    if sampling.stop:
        body["stop"] = sampling.stop
    body.update(sampling.extra)
    try:
        return _ENCODER.encode(body)
    except UnicodeEncodeError as error:
        raise ServerError(f"model {model}: the messages cannot be sent: {error}") from error


def open_model(
    settings: ModelSettings,
    *,
    draw: Callable[[], float] = random.random,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    clock: Callable[[], float] = time.perf_counter,
    now: Callable[[], float] = time.time,
) -> OpenAIChat:
    """A client with its own connections, one per call in flight. Raises `ConfigError` where the key's variable is not set."""
    timeout = httpx2.Timeout(settings.timeout_s, connect=settings.connect_timeout_s)
    limits = httpx2.Limits(max_connections=settings.max_in_flight, max_keepalive_connections=settings.max_in_flight, keepalive_expiry=15)
    try:
        httpx2.URL(settings.base_url or OPENAI_URL)
    except httpx2.InvalidURL as error:
        raise ConfigError(f"base_url: {error}; it looks like http://127.0.0.1:8000/v1") from error
    client = openai.AsyncOpenAI(
        api_key=api_key(settings),
        base_url=settings.base_url or OPENAI_URL,
        timeout=timeout,
        max_retries=0,
        http_client=openai.DefaultAioHttpClient(timeout=timeout, limits=limits, event_hooks={"response": [_bounded]}),
    )
    return OpenAIChat(client, settings, draw=draw, sleep=sleep, clock=clock, now=now)


class _TooLongError(Exception):
    """A reply that is not read to its end."""

    def __init__(self) -> None:
        super().__init__(f"the reply is longer than {LONGEST_REPLY // 2**20} MiB; bound it with max_tokens")


class _BoundedStream(httpx2.AsyncByteStream):
    """The bytes of a response, up to the limit."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for chunk in self._stream:
            received += len(chunk)
            if received > LONGEST_REPLY:
                raise _TooLongError
            yield chunk

    async def aclose(self) -> None:
        """Closes the response."""
        await self._stream.aclose()


async def _bounded(response: httpx2.Response) -> None:
    """Bounds what is read of a response, errors included. Raises `_TooLongError` at once where its header says that it is too long."""
    announced = response.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > LONGEST_REPLY:
        raise _TooLongError
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundedStream(response.stream)


def _root(error: BaseException) -> str:
    """The innermost cause in words: openai itself only says "Connection error."."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__


def _timed_out(error: BaseException) -> bool:
    """Whether time ran out. The aiohttp backend calls a lost connection a timeout as well, so the innermost cause decides."""
    while error.__cause__ is not None:
        error = error.__cause__
    return isinstance(error, TimeoutError | httpx2.TimeoutException | openai.APITimeoutError)
