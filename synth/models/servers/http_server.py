"""One server over HTTP, through aiohttp: no layer between the bytes that we encoded and the socket.

A bare aiohttp loop needs 0.15 ms of CPU per call where the openai package needs 0.6 ms; this stays
close to the former.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Mapping

import aiohttp

from synth.keys.remover import MARK, KeyRemover
from synth.models.server_error import ServerError, refused
from synth.models.settings import ModelSettings, api_key

LONGEST_REPLY = 64 * 2**20
"""Bytes; what a server sends beyond them is not read."""
KEEP_ALIVE_S = 4.0
"""Below the 5 s after which uvicorn, and so vLLM, closes an idle connection: a request on a
connection that is being closed is lost.
"""


class HTTPServer:
    """The connections to one base URL; opened with the first request, inside the event loop that
    uses them.

    `connecting` is called whenever a post opens a connection: the server behind it may be another
    than before. What is asked by GET has connections of its own. Raises `ConfigError` where the
    key's variable is not set.
    """

    def __init__(
        self,
        url: str,
        settings: ModelSettings,
        now: Callable[[], float] = time.time,
        *,
        headers: Mapping[str, str] | None = None,
        proxy: str | None = None,
    ) -> None:
        self.url = url
        self._settings = settings
        self._now = now
        key = api_key(settings)
        self.remover = KeyRemover({MARK: key})
        self._headers = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            "Authorization": f"Bearer {key}",
            **(headers or {}),
        }
        self._proxy = proxy
        self._sessions: dict[str, aiohttp.ClientSession] = {}
        self.connecting: Callable[[], None] = lambda: None
        # aiohttp's warnings quote cookies, in which a server may repeat the key
        logging.getLogger("aiohttp.internal").setLevel(logging.ERROR)

    async def post(
        self, path: str, body: bytes, timeout_s: float, *, beside: bool = False
    ) -> bytes:
        """The body of the answer; `beside` the base path, at the server's root, where vLLM has
        /tokenize. Raises `ServerError`.
        """
        return await self._requested("POST", path, body, timeout_s, beside)

    async def get(self, path: str, timeout_s: float, *, beside: bool = False) -> bytes:
        """The same without a body, the key removed from the answer; beside the base path vLLM has
        /health and /metrics.
        """
        return self.remover.clean(await self._requested("GET", path, None, timeout_s, beside))

    async def close(self) -> None:
        """Closes the connections."""
        while self._sessions:
            await self._sessions.popitem()[1].close()

    async def _requested(
        self, method: str, path: str, body: bytes | None, timeout_s: float, beside: bool
    ) -> bytes:
        """One try. The failure is raised outside the handlers: an error's context may hold the
        request, and with it the key; so may the words of aiohttp, which quote an answer that is no
        HTTP.
        """
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._session(method).request(
                    method,
                    self._address(path, beside=beside),
                    data=body,
                    headers=self._headers,
                    allow_redirects=False,
                    proxy=self._proxy,
                ) as answer,
            ):
                content = await self._read(answer)
                if answer.status == 200:
                    return content
            cleaned = self.remover.clean(content)
            failure = refused(
                self._settings, self.where(), answer.status, answer.headers, cleaned, self._now()
            )
        except aiohttp.ClientConnectorError as error:
            failure = self.failed(f"connection lost: {error.os_error}", turned_away=True)
        except aiohttp.ConnectionTimeoutError:
            late = f"no connection within {self._settings.connect_timeout_s:g} s"
            failure = self.failed(late, timeout=True, turned_away=True)
        except TimeoutError:
            failure = self.failed(f"no reply within {timeout_s:.3g} s", timeout=True)
        except (aiohttp.ClientError, OSError) as error:
            failure = self.failed(f"connection lost: {error or type(error).__name__}")
        raise failure.saying(self.remover.clean_text(str(failure)))

    def _address(self, path: str, *, beside: bool) -> str:
        root = self.url.removesuffix("/v1") if beside else self.url
        return root + path

    async def _read(self, answer: aiohttp.ClientResponse) -> bytes:
        """The body. Raises `ServerError` where it is longer than the limit, and reads no more."""
        body, announced = bytearray(), answer.content_length or 0
        async for part in answer.content.iter_any():
            body += part
            if max(len(body), announced) > LONGEST_REPLY:
                most = LONGEST_REPLY // 2**20
                too_long = f"the reply is longer than {most} MiB; bound it with max_tokens"
                raise self.failed(too_long, retryable=False)

        return bytes(body)

    def _session(self, method: str) -> aiohttp.ClientSession:
        if method not in self._sessions:
            self._sessions[method] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0,
                    keepalive_timeout=KEEP_ALIVE_S,
                    socket_factory=self._socket if method == "POST" else None,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=self._settings.connect_timeout_s
                ),
            )
        return self._sessions[method]

    def _socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        self.connecting()
        return socket.socket(*address[:3])

    def failed(self, what: str, *, retryable: bool = True, **kinds: bool) -> ServerError:
        """A failure at this server, of the kinds of `ServerError`."""
        return ServerError(f"{self.where()}: {what}", retryable=retryable, **kinds)

    def where(self) -> str:
        """Which model at which server, for messages."""
        return f"model {self._settings.model} at {self.url}"
