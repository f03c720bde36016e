"""One or many vLLM servers: our own thin client, which asks for what a trainer needs to see what
the model saw.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable

from synth.models.chat_request import thoughts_under_both_names
from synth.models.fleet import Fleet
from synth.models.http_server import HTTPServer
from synth.models.server_chat import Pacing, ServerChat
from synth.models.settings import ModelSettings, api_key, secret
from synth.schemas.errors import ConfigError


def open_model(
    settings: ModelSettings,
    *,
    draw: Callable[[], float] = random.random,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    clock: Callable[[], float] = time.perf_counter,
    now: Callable[[], float] = time.time,
) -> ServerChat:
    """A client of the servers that `base_url` names. Raises `ConfigError` where it names none, or
    asks for what vLLM would ignore.
    """
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
    key, pacing = api_key(settings), Pacing(draw, sleep, clock, now)
    also = {"return_token_ids": True} if settings.token_ids else {}
    if settings.logprobs:
        also["logprobs"] = True
    fleet = Fleet(
        [HTTPServer(url, settings, key, now) for url in settings.base_urls], settings, pacing
    )
    return ServerChat(fleet, settings, secret(key), pacing, also, thoughts_under_both_names)
