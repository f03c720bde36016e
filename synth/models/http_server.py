"""One server over HTTP, through aiohttp: no layer between the bytes that we encoded and the socket.

A bare aiohttp loop needs 0.15 ms of CPU per call where the openai package needs 0.6 ms; this stays
close to the former.
"""

import asyncio
import socket
import time
from collections.abc import Callable, Mapping

import aiohttp

from synth.keys.remover import MARK, KeyRemover
from synth.models.server_error import LONGEST_REPLY, TOO_LONG, ServerError, refused
from synth.models.settings import NO_KEY, ModelSettings, secret

KEEP_ALIVE_S = 4.0
"""Below the 5 s after which uvicorn, and so vLLM, closes an idle connection: a request on a
connection that is being closed is lost.
"""


class HTTPServer:
    """The connections to one base URL; opened with the first request, inside the event loop that
    uses them.

    `connecting` is called whenever a post opens a connection: the server behind it may be another
    than before. What is asked by GET has connections of its own.
    """

    def __init__(
        self,
        url: str,
        settings: ModelSettings,
        key: str,
        now: Callable[[], float] = time.time,
        *,
        headers: Mapping[str, str] | None = None,
        proxy: str | None = None,
    ) -> None:
        self.url = url
        self._settings = settings
        self._now = now
        self._remover = KeyRemover({MARK: secret(key)})
        self._headers = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            "Authorization": f"Bearer {key or NO_KEY}",
            **(headers or {}),
        }
        self._proxy = proxy
        self._sessions: dict[str, aiohttp.ClientSession] = {}
        self.connecting: Callable[[], None] = lambda: None

    async def post(
        self, path: str, body: bytes, timeout_s: float, *, beside: bool = False
    ) -> bytes:
        """The body of the answer; `beside` the base path, at the server's root, where vLLM has
        /tokenize. Raises `ServerError`.
        """
        return await self._requested(
            "POST", (self._root() if beside else self.url) + path, body, timeout_s
        )

    async def get(self, path: str, timeout_s: float, *, beside: bool = False) -> bytes:
        """The same without a body, the key removed from the answer; beside the base path vLLM has
        /health and /metrics.
        """
        return self._remover.clean(
            await self._requested(
                "GET", (self._root() if beside else self.url) + path, None, timeout_s
            )
        )

    async def close(self) -> None:
        """Closes the connections."""
        while self._sessions:
            await self._sessions.popitem()[1].close()

    async def _requested(
        self, method: str, url: str, body: bytes | None, timeout_s: float
    ) -> bytes:
        """One try. The failure is raised outside the handlers: an error's context may hold the
        request, and with it the key; so may the words of aiohttp, which quote an answer that is no
        HTTP.
        """
        try:
            async with asyncio.timeout(timeout_s):
                async with self._opened(method).request(
                    method,
                    url,
                    data=body,
                    headers=self._headers,
                    allow_redirects=False,
                    proxy=self._proxy,
                ) as answer:
                    content = await _read(answer)
                    if answer.status == 200:
                        return content
                failure = refused(
                    self._settings,
                    self.where(),
                    answer.status,
                    answer.headers,
                    self._remover.clean(content),
                    self._now(),
                )
        except _TooLongError:
            failure = self.failed(TOO_LONG, retryable=False)
        except aiohttp.ClientConnectorError as error:
            failure = self.failed(f"connection lost: {error.os_error}", turned_away=True)
        except aiohttp.ConnectionTimeoutError:
            failure = self.failed(
                f"no connection within {self._settings.connect_timeout_s:g} s",
                timeout=True,
                turned_away=True,
            )
        except TimeoutError:
            failure = self.failed(f"no reply within {timeout_s:.3g} s", timeout=True)
        except (aiohttp.ClientError, OSError) as error:
            failure = self.failed(f"connection lost: {error or type(error).__name__}")
        raise failure.without_keys(self._remover.clean_text)

    def _opened(self, method: str) -> aiohttp.ClientSession:
        if method not in self._sessions:
            to_post = self._socket if method == "POST" else None
            self._sessions[method] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0, keepalive_timeout=KEEP_ALIVE_S, socket_factory=to_post
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=self._settings.connect_timeout_s
                ),
            )
        return self._sessions[method]

    def _socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, *_ = address
        self.connecting()
        return socket.socket(family, kind, protocol)

    def failed(
        self, what: str, *, timeout: bool = False, retryable: bool = True, turned_away: bool = False
    ) -> ServerError:
        """A failure at this server."""
        return ServerError(
            f"{self.where()}: {what}", retryable=retryable, timeout=timeout, turned_away=turned_away
        )

    def where(self) -> str:
        """Which model at which server, for messages."""
        return f"model {self._settings.model} at {self.url}"

    def _root(self) -> str:
        return self.url.removesuffix("/v1")


class _TooLongError(Exception):
    """A reply that is not read to its end."""


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    """The body, up to the limit. Raises `_TooLongError`."""
    announced = answer.content_length
    if (
        announced is not None
        and announced <= LONGEST_REPLY
        and "Content-Encoding" not in answer.headers
    ):
        return await answer.read()
    if announced is not None and announced > LONGEST_REPLY:
        raise _TooLongError
    parts, length = [], 0
    async for part in answer.content.iter_any():
        length += len(part)
        if length > LONGEST_REPLY:
            raise _TooLongError
        parts.append(part)
    return b"".join(parts)
