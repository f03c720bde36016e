"""Chat models behind HTTP: one client for every server, and a table of what differs between a
provider in OpenAI's form and vLLM.

vLLM is asked for what a trainer needs to see what the model saw (token ids, weights, queues); a
provider is asked for a reply and nothing else.
"""

import asyncio
import logging
import os
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec

from synth.models.adaptive_limit import AdaptiveLimit
from synth.models.chat_request import thoughts_under_both_names
from synth.models.fleet import Fleet
from synth.models.http_server import HTTPServer
from synth.models.server_chat import Pacing, Post, Received, ServerChat, Transport
from synth.models.server_error import ServerError
from synth.models.settings import OPENAI_URL, ModelSettings, api_key, secret
from synth.schemas.errors import ConfigError
from synth.schemas.model import Message


class OneServer:
    """A transport to one server of which nothing but replies is asked."""

    def __init__(
        self, servers: Sequence[HTTPServer], settings: ModelSettings, pacing: Pacing
    ) -> None:
        (self._server,) = servers
        self._clock = pacing.clock
        self._limit = AdaptiveLimit(
            settings.max_in_flight, where=self._server.where(), clock=pacing.clock
        )

    @property
    def room(self) -> int:
        """Calls that the server has room for."""
        return self._limit.limit

    async def post(self, post: Post, timeout_s: float) -> Received:
        """One try. Raises `ServerError`."""
        began = self._clock()
        try:
            body = await self._server.post(post.path, post.body, timeout_s)
        except ServerError as error:
            self._limit.failed(error)
            raise
        self._limit.answered(self._clock() - began)
        return Received(body)

    async def close(self) -> None:
        """Closes the connections."""
        await self._server.close()


class ServerForm(msgspec.Struct, frozen=True):
    """How servers of one kind are reached and asked."""

    urls: Callable[[ModelSettings], Sequence[str]]
    transport: Callable[[Sequence[HTTPServer], ModelSettings, Pacing], Transport]
    also: Callable[[ModelSettings], Mapping[str, Any]] = lambda settings: {}
    spelled: Callable[[Sequence[Message]], Sequence[Message]] = lambda messages: messages
    headers: Mapping[str, str] = {}
    """Request headers by the environment variable that holds their value."""
    proxies: bool = False
    """Whether HTTPS_PROXY, NO_PROXY and their kin are obeyed, as clients of providers do."""

    def open(
        self,
        settings: ModelSettings,
        *,
        draw: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.perf_counter,
        now: Callable[[], float] = time.time,
    ) -> ServerChat:
        """A client with its own connections. Raises `ConfigError` for addresses that this form does
        not take, and where the key's variable is not set.
        """
        urls = self.urls(settings)
        key, pacing = api_key(settings), Pacing(draw, sleep, clock, now)
        logging.getLogger("aiohttp.internal").setLevel(
            logging.ERROR
        )  # its warnings quote cookies, in which a server may repeat the key
        headers = {
            name: value
            for variable, name in self.headers.items()
            if (value := os.environ.get(variable))
        }
        servers = [
            HTTPServer(
                url,
                settings,
                key,
                now,
                headers=headers,
                proxy=_proxy(url) if self.proxies else None,
            )
            for url in urls
        ]
        transport = self.transport(servers, settings, pacing)
        also = self.also(settings)
        return ServerChat(transport, settings, secret(key), pacing, also, self.spelled)


def _proxy(url: str) -> str | None:
    """The proxy that the environment names for a URL. Raises `ConfigError` for one of another kind.

    aiohttp's own reading of the environment is not used: it takes credentials from .netrc as well.
    """
    parts, named = urlsplit(url), getproxies()
    if proxy_bypass(parts.hostname or ""):
        return None
    proxy = named.get(parts.scheme) or named.get("all")
    if proxy is not None and urlsplit(proxy).scheme not in ("http", "https"):
        raise ConfigError(
            f"{parts.scheme.upper()}_PROXY, ALL_PROXY: engine openai goes through http proxies "
            "only; name such a one, or put the server into NO_PROXY"
        )
    return proxy


def _provider(settings: ModelSettings) -> Sequence[str]:
    if len(settings.base_urls) > 1:
        raise ConfigError(
            "base_url: engine openai asks one server; for several choose `engine: vllm`"
        )
    return settings.base_urls or (OPENAI_URL,)


def _vllm_servers(settings: ModelSettings) -> Sequence[str]:
    if not settings.base_urls:
        raise ConfigError(
            "base_url: engine vllm needs the address of a server, such as "
            "http://127.0.0.1:8000/v1, or a list of them"
        )
    ignored = sorted(key for key in settings.extra_body if key.startswith("guided_"))
    if ignored:
        kind = ignored[0].removeprefix("guided_")
        raise ConfigError(
            f"extra_body: vLLM ignores {ignored[0]}; write `structured_outputs: {{{kind}: ...}}`"
        )
    return settings.base_urls


def _asked_of_vllm(settings: ModelSettings) -> Mapping[str, Any]:
    wanted = {"return_token_ids": settings.token_ids, "logprobs": settings.logprobs}
    return {name: True for name, is_wanted in wanted.items() if is_wanted}


_OPENAI = ServerForm(
    _provider,
    OneServer,
    headers={"OPENAI_ORG_ID": "OpenAI-Organization", "OPENAI_PROJECT_ID": "OpenAI-Project"},
    proxies=True,
)
_VLLM = ServerForm(_vllm_servers, Fleet, _asked_of_vllm, thoughts_under_both_names)
open_openai, open_vllm = _OPENAI.open, _VLLM.open
