"""Engine `vllm_local`: vLLM as a worker process in its own virtual environment, behind the client
of engine `vllm`.

It cannot share an environment with Prefect (they need other versions of FastAPI), so the settings
name its interpreter.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from synth.models.http_chat import open_vllm
from synth.models.server_chat import ServerChat
from synth.models.settings import ModelSettings
from synth.models.vllm_local_server import LocalServer, shared_server
from synth.models.vllm_scoring import VLLMScoring
from synth.schemas.errors import ConfigError
from synth.schemas.model import Completion, Message, Sampling, Scored
from synth.schemas.trajectory import ToolSchema

OURS = ("--host", "--port", "--model", "--served-model-name", "--api-key", "--uds")
DEFAULTS = ("--enable-prompt-tokens-details",)
CALLS = ("--enable-auto-tool-choice", "--tool-call-parser=hermes")
"""Where the settings name no parser: without one vLLM refuses requests with tools. Calls that it
misses are recovered.
"""


class VLLMLocalChat:
    """A `ChatModel` whose server is started by the first call; calls wait while it starts, and
    while it is started again.
    """

    def __init__(self, server: LocalServer, client: ServerChat) -> None:
        self._server = server
        self._client = client

    @property
    def name(self) -> str:
        """The folder or Hub name of the weights."""
        return self._client.name

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], sampling: Sampling
    ) -> Completion:
        """One reply. Raises `ModelError`, or `SynthError` where the server cannot be had."""
        return await self._server.serving(lambda: self._client.complete(messages, tools, sampling))

    async def complete_n(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], sampling: Sampling, n: int
    ) -> tuple[Completion, ...]:
        """`n` replies to one request."""
        return await self._server.serving(
            lambda: self._client.complete_n(messages, tools, sampling, n)
        )

    async def close(self) -> None:
        """Closes the connections and ends the server."""
        await self._client.close()
        await self._server.close()


class VLLMLocalScoring:
    """A `ScoringModel` on a server of its own."""

    def __init__(self, server: LocalServer, client: VLLMScoring) -> None:
        self._server = server
        self._client = client

    async def score(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Scored:
        """As engine vllm scores. Raises `ModelError`, or `SynthError` where the server cannot be
        had.
        """
        return await self._server.serving(lambda: self._client.score(messages, tools))

    async def close(self) -> None:
        """Closes the connections and ends the server."""
        await self._client.close()
        await self._server.close()


def flags(settings: ModelSettings) -> list[str]:
    """What the server is started with beside its model and address. Raises `ConfigError` for
    settings that cannot start one.
    """
    if settings.base_url is not None or settings.api_key_env is not None:
        raise ConfigError(
            "base_url, api_key_env: engine vllm_local starts its own server; remove them, or "
            "choose `engine: vllm`"
        )
    if settings.python is None:
        raise ConfigError(
            "python: engine vllm_local needs the interpreter of vLLM's environment, such as "
            "/opt/vllm/bin/python"
        )
    python = Path(settings.python).expanduser()
    if python.is_dir() or not os.access(python, os.X_OK):
        raise ConfigError(
            f"python: {settings.python} is no interpreter; name that of vLLM's environment, such "
            "as /opt/vllm/bin/python"
        )
    named = {flag.partition("=")[0] for flag in settings.server_args}
    taken = sorted(named & set(OURS))
    if taken:
        raise ConfigError(f"server_args: {taken[0]} is set by synth itself; remove it")
    return [*DEFAULTS, *(() if "--tool-call-parser" in named else CALLS), *settings.server_args]


def _opened(settings: ModelSettings) -> tuple[LocalServer, ServerChat]:
    server = shared_server(settings, flags(settings))
    client = open_vllm(settings.model_copy(update={"engine": "vllm", "base_url": server.url}))
    server.users += 1
    return server, client


def open_model(settings: ModelSettings) -> VLLMLocalChat:
    """The server is started by the first call. Raises `ConfigError`."""
    return VLLMLocalChat(*_opened(settings))


def open_scoring(settings: ModelSettings) -> VLLMLocalScoring:
    """The server is started by the first chat. Raises `ConfigError`."""
    server, client = _opened(settings)
    return VLLMLocalScoring(server, VLLMScoring(client))
