"""Chat models behind HTTP, opened: one client for every server, asked in the form of a provider or
of vLLM.

vLLM is asked for what a trainer needs to see what the model saw (token ids, weights, queues); a
provider is asked for a reply and nothing else. Engine `vllm_local` starts vLLM as a worker process
in its own virtual environment: it cannot share one with Prefect (they need other versions of
FastAPI), so the settings name its interpreter.
"""

import os
from collections.abc import Callable, Set
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from synth.models.backoff import Pacing
from synth.models.bounded_forms import bounded
from synth.models.local.vllm_environment import flags_of, installed
from synth.models.local.vllm_local_server import LocalServer, shared_server
from synth.models.probing.parsers import parsers_of
from synth.models.servers.fleet import Fleet
from synth.models.servers.http_server import HTTPServer
from synth.models.servers.server_chat import Process, ServerChat, Transport
from synth.models.settings import OPENAI_URL, ModelSettings
from synth.schemas import ConfigError, Messages

ORGANISATION = {"OPENAI_ORG_ID": "OpenAI-Organization", "OPENAI_PROJECT_ID": "OpenAI-Project"}
"""Request headers by the environment variable that holds their value."""
OURS = ("--host", "--port", "--model", "--served-model-name", "--api-key", "--uds")
DEFAULTS = ("--enable-prompt-tokens-details",)
CALLS = ("--enable-auto-tool-choice", "--tool-call-parser=hermes")
"""Where the settings name no parser: without one vLLM refuses requests with tools. Calls that it
misses are recovered.
"""


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
    return vllm_chat(Fleet(servers, settings, paced), settings, paced, process)


def vllm_chat(
    transport: Transport, settings: ModelSettings, pacing: Pacing, process: Process | None
) -> ServerChat:
    """A client that speaks to vLLM, whatever carries its requests there."""
    wanted = {"return_token_ids": settings.token_ids, "logprobs": settings.logprobs}
    return ServerChat(
        transport,
        settings,
        pacing,
        also={name: True for name, is_wanted in wanted.items() if is_wanted},
        spelled=thoughts_under_both_names,
        fitted=bounded,
        process=process,
    )


def open_vllm_local(settings: ModelSettings) -> ServerChat:
    """A client whose server is started by the first call; calls wait while it starts, and while it
    is started again. Raises `ConfigError`; a call `SynthError` where the server cannot be had.
    """
    settings = with_interpreter(settings)
    server = shared_server(settings, flags(settings))

    client = open_vllm(server.reached_by(settings), server)
    server.users += 1
    return client


def with_interpreter(settings: ModelSettings) -> ModelSettings:
    """The settings with vLLM's interpreter: where they name none, that of `synth vllm install`,
    if it is there.
    """
    found = installed() if settings.python is None else None
    return settings if found is None else settings.model_copy(update={"python": str(found)})


def check_startable(settings: ModelSettings) -> None:
    """Raises `ConfigError` for settings from which no vLLM can be started on this machine."""
    engine = settings.engine
    if settings.base_url is not None or settings.api_key_env is not None:
        raise ConfigError(
            f"base_url, api_key_env: engine {engine} starts its own server or process; remove "
            "them, or choose `engine: vllm`"
        )

    if settings.python is None:
        raise ConfigError(
            f"python: engine {engine} needs the interpreter of vLLM's environment: run `synth vllm "
            "install` once, or name another, such as /opt/vllm/bin/python"
        )

    python = Path(settings.python).expanduser()
    if python.is_dir() or not os.access(python, os.X_OK):
        raise ConfigError(
            f"python: {settings.python} is no interpreter; name that of vLLM's environment, such "
            "as /opt/vllm/bin/python"
        )


def flags(settings: ModelSettings) -> list[str]:
    """What the server is started with beside its model and address. Raises `ConfigError` for
    settings that cannot start one.
    """
    check_startable(settings)
    named = {flag.partition("=")[0] for flag in settings.server_args}
    for taken in sorted(named & set(OURS)):
        raise ConfigError(f"server_args: {taken} is set by synth itself; remove it")
    ours = (*DEFAULTS, *flags_of(str(settings.python)), *_parsers(settings.model, named))
    return [*ours, *settings.server_args]


def _parsers(model: str, named: Set[str]) -> list[str]:
    """The parsers of the model's family that the settings leave open; where it is not known calls
    are read as Hermes writes them, and those that are missed are recovered.
    """
    family = parsers_of(model)
    flags = CALLS if family is None else family.flags
    if "--tool-call-parser" in named:
        flags = tuple(flag for flag in flags if flag.startswith("--reasoning"))
    return [flag for flag in flags if flag.partition("=")[0] not in named]


def thoughts_under_both_names(messages: Messages) -> Messages:
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
