"""Any provider through the openai package, on its fast path.

`chat.completions.create` walks every message through its type annotations, 3.6 ms of CPU per call
at ten messages; `post` with a body
that we encoded and the bare response does not (performance.md, A3). aiohttp carries it: it is the
package's own extra, and our core
installs aiohttp.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import httpx2
import openai

from synth.keys.remover import MARK, KeyRemover
from synth.models.adaptive_limit import AdaptiveLimit
from synth.models.refusal import LONGEST_REPLY, TOO_LONG, refused
from synth.models.server_chat import Pacing, Post, Received, ServerChat
from synth.models.server_error import ServerError
from synth.models.settings import OPENAI_URL, ModelSettings, api_key, secret
from synth.schemas.errors import ConfigError

_HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
"""Uncompressed replies: their length as received is their length in memory."""


class OpenAITransport:
    """One server through the package's client."""

    def __init__(self, client: openai.AsyncOpenAI, settings: ModelSettings, pacing: Pacing) -> None:
        self._client = client
        self._settings = settings
        self._pacing = pacing
        self._url = str(client.base_url).rstrip("/")
        self._remover = KeyRemover({MARK: secret(client.api_key)})
        self._limit = AdaptiveLimit(settings.max_in_flight, where=self._where(), clock=pacing.clock)

    @property
    def room(self) -> int:
        """Calls that the server has room for."""
        return self._limit.limit

    async def post(self, post: Post, timeout_s: float) -> Received:
        """One try. The failure is raised outside the handlers: openai's errors hold the request,
        and with it the key; so may the words of
        aiohttp, which quote an answer that is no HTTP.
        """
        started = self._pacing.clock()
        try:
            async with asyncio.timeout(
                timeout_s
            ):  # httpx's read timeout starts anew with every byte
                response = await self._client.post(
                    post.path,
                    content=post.body,
                    cast_to=httpx2.Response,
                    options={"headers": _HEADERS},
                )
                if response.status_code == 200:
                    self._limit.answered(self._pacing.clock() - started)
                    return Received(response.content)
                failure = self._refused(response)
        except TimeoutError:
            failure = self._failed(f"no reply within {timeout_s:.3g} s", timeout=True)
        except openai.APIStatusError as error:
            failure = self._refused(error.response)
        except openai.APIConnectionError as error:
            root = _root(error)
            what = "timeout" if _timed_out(root) else "connection lost"
            failure = self._failed(
                f"{what}: {_words(root)}", timeout=_timed_out(root), turned_away=_not_there(error)
            )
        except _TooLongError:
            failure = self._failed(TOO_LONG, retryable=False)
        except (openai.OpenAIError, aiohttp.ClientError) as error:
            failure = self._failed(f"{type(error).__name__}: {_words(_root(error))}")
        self._limit.failed(failure)
        raise failure.without_keys(self._remover.clean_text)

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.close()

    def _refused(self, answer: httpx2.Response) -> ServerError:
        content = self._remover.clean(answer.content)
        return refused(
            self._settings,
            self._where(),
            answer.status_code,
            answer.headers,
            content,
            self._pacing.now(),
        )

    def _failed(
        self, what: str, *, timeout: bool = False, retryable: bool = True, turned_away: bool = False
    ) -> ServerError:
        return ServerError(
            f"{self._where()}: {what}",
            retryable=retryable,
            timeout=timeout,
            turned_away=turned_away,
        )

    def _where(self) -> str:
        return f"model {self._settings.model} at {self._url}"


def open_model(
    settings: ModelSettings,
    *,
    draw: Callable[[], float] = random.random,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    clock: Callable[[], float] = time.perf_counter,
    now: Callable[[], float] = time.time,
) -> ServerChat:
    """A client with its own connections, one per call in flight. Raises `ConfigError` where the
    key's variable is not set.
    """
    timeout = httpx2.Timeout(settings.timeout_s, connect=settings.connect_timeout_s)
    limits = httpx2.Limits(
        max_connections=settings.max_in_flight,
        max_keepalive_connections=settings.max_in_flight,
        keepalive_expiry=15,
    )
    if len(settings.base_urls) > 1:
        raise ConfigError(
            "base_url: engine openai asks one server; for several choose `engine: vllm`"
        )
    url = settings.base_urls[0] if settings.base_urls else OPENAI_URL
    try:
        httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise ConfigError(f"base_url: {error}; it looks like http://127.0.0.1:8000/v1") from error
    key, pacing = api_key(settings), Pacing(draw, sleep, clock, now)
    logging.getLogger("aiohttp.internal").setLevel(
        logging.ERROR
    )  # its warnings quote cookies, in which a server may repeat the key
    client = openai.AsyncOpenAI(
        api_key=key,
        base_url=url,
        timeout=timeout,
        max_retries=0,
        http_client=openai.DefaultAioHttpClient(
            timeout=timeout,
            limits=limits,
            follow_redirects=False,  # a conversation goes where the flow says, and nowhere else
            event_hooks={"response": [_bounded]},
        ),
    )
    return ServerChat(OpenAITransport(client, settings, pacing), settings, secret(key), pacing)


class _TooLongError(Exception):
    """A reply that is not read to its end."""


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
    """Bounds what is read of a response, errors included. Raises `_TooLongError` at once where its
    header says that it is too long.
    """
    announced = response.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > LONGEST_REPLY:
        raise _TooLongError
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundedStream(response.stream)


def _root(error: BaseException) -> BaseException:
    """The innermost cause: openai itself only says "Connection error."."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _timed_out(root: BaseException) -> bool:
    """Whether time ran out. The aiohttp backend calls a lost connection a timeout as well, so the
    innermost cause decides.
    """
    return isinstance(root, TimeoutError | httpx2.TimeoutException | openai.APITimeoutError)


def _not_there(error: BaseException | None) -> bool:
    """Whether no connection came about."""
    while error is not None:
        if isinstance(error, aiohttp.ClientConnectorError | httpx2.ConnectError):
            return True
        error = error.__cause__
    return False
