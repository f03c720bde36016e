"""Chat models behind HTTP, opened: one client for every server, asked in the form of a provider or
of vLLM.

vLLM is asked for what a trainer needs to see what the model saw (token ids, weights, queues); a
provider is asked for a reply and nothing else.
"""

import os
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from synth.models.backoff import Pacing
from synth.models.local.vllm_local_server import LocalServer
from synth.models.servers.fleet import Fleet
from synth.models.servers.http_server import HTTPServer
from synth.models.servers.server_chat import ServerChat
from synth.models.settings import OPENAI_URL, ModelSettings
from synth.schemas.errors import ConfigError
from synth.schemas.model import Messages

ORGANISATION = {"OPENAI_ORG_ID": "OpenAI-Organization", "OPENAI_PROJECT_ID": "OpenAI-Project"}
"""Request headers by the environment variable that holds their value."""


def open_openai(settings: ModelSettings, **pacing: Callable[..., Any]) -> ServerChat:
    """A client of a provider in OpenAI's form; `pacing` as the fields of `Pacing`.

    HTTPS_PROXY, NO_PROXY and their kin are obeyed, as clients of providers do. Raises
    `ConfigError` for several addresses, and where the key's variable is not set.
    """
    if len(settings.base_urls) > 1:
        raise ConfigError(
            "base_url: engine openai asks one server; for several choose `engine: vllm`"
        )
    (url,), paced = settings.base_urls or (OPENAI_URL,), Pacing(**pacing)
    headers = {
        name: os.environ[variable]
        for variable, name in ORGANISATION.items()
        if os.environ.get(variable)
    }
    server = HTTPServer(url, settings, paced.now, headers=headers, proxy=_proxy(url))
    return ServerChat(Fleet([server], settings, paced, watched=False), settings, paced)


def open_vllm(
    settings: ModelSettings, process: LocalServer | None = None, **pacing: Callable[..., Any]
) -> ServerChat:
    """A client of one or several vLLM servers, with the `process` that is one where the client has
    it of its own. Raises `ConfigError` where no address is named, for settings that vLLM ignores,
    and where the key's variable is not set.
    """
    if not settings.base_urls:
        raise ConfigError(
            "base_url: engine vllm needs the address of a server, such as "
            "http://127.0.0.1:8000/v1, or a list of them"
        )
    for ignored in sorted(settings.extra_body):
        if ignored.startswith("guided_"):
            kind = ignored.removeprefix("guided_")
            raise ConfigError(
                f"extra_body: vLLM ignores {ignored}; write `structured_outputs: {{{kind}: ...}}`"
            )
    paced = Pacing(**pacing)
    servers = [HTTPServer(url, settings, paced.now) for url in settings.base_urls]
    wanted = {"return_token_ids": settings.token_ids, "logprobs": settings.logprobs}
    return ServerChat(
        Fleet(servers, settings, paced),
        settings,
        paced,
        also={name: True for name, is_wanted in wanted.items() if is_wanted},
        spelled=_thoughts_under_both_names,
        process=process,
    )


def _thoughts_under_both_names(messages: Messages) -> Messages:
    """The messages with every past thought as `reasoning_content` and as `reasoning`.

    vLLM reads `reasoning`. Its chat endpoint also takes `reasoning_content` for it, /tokenize
    leaves that out without a word (0.32).
    """
    return [
        {**message, "reasoning": message["reasoning_content"]}
        if "reasoning_content" in message
        else message
        for message in messages
    ]


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
