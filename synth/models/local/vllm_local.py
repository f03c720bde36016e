"""Engine `vllm_local`: vLLM as a worker process in its own virtual environment, behind the client
of engine `vllm`.

It cannot share an environment with Prefect (they need other versions of FastAPI), so the settings
name its interpreter.
"""

import os
from pathlib import Path

from synth.models.local.vllm_local_server import shared_server
from synth.models.servers.http_chat import open_vllm
from synth.models.servers.server_chat import ServerChat
from synth.models.servers.vllm_scoring import VLLMScoring
from synth.models.settings import ModelSettings
from synth.schemas.errors import ConfigError

OURS = ("--host", "--port", "--model", "--served-model-name", "--api-key", "--uds")
DEFAULTS = ("--enable-prompt-tokens-details",)
CALLS = ("--enable-auto-tool-choice", "--tool-call-parser=hermes")
"""Where the settings name no parser: without one vLLM refuses requests with tools. Calls that it
misses are recovered.
"""


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
    for taken in sorted(named & set(OURS)):
        raise ConfigError(f"server_args: {taken} is set by synth itself; remove it")
    return [*DEFAULTS, *(() if "--tool-call-parser" in named else CALLS), *settings.server_args]


def open_model(settings: ModelSettings) -> ServerChat:
    """A client whose server is started by the first call; calls wait while it starts, and while it
    is started again. Raises `ConfigError`; a call `SynthError` where the server cannot be had.
    """
    server = shared_server(settings, flags(settings))

    client = open_vllm(server.reached_by(settings), server)
    server.users += 1
    return client


def open_scoring(settings: ModelSettings) -> VLLMScoring:
    """The same for scoring: the server is started by the first chat."""
    return VLLMScoring(open_model(settings))
