"""Engines by name; opening one imports it, importing this does not."""

from collections.abc import Callable
from typing import cast

from schemas.errors import ConfigError
from schemas.model import ChatModel
from synth.boundary import called, imported
from synth.models.admission import Admission, AdmittedChat
from synth.models.broken_calls import BrokenCallsChat
from synth.models.settings import ModelSettings

ENGINES: dict[str, str] = {
    "openai": "synth.models.openai_chat:open_model",
}


def open_model(settings: ModelSettings) -> ChatModel:
    """The engine that the settings name, with what every transport shares: histories that it refuses (broken_calls), and admission of
    `max_in_flight` calls.

    Raises `ConfigError` for an engine that is neither registered nor importable as `package.module:attribute`, and for a key
    that is not in the environment.
    """
    target = ENGINES.get(settings.engine, settings.engine)
    if ":" not in target:
        raise ConfigError(f"engine {settings.engine} is not known; known: {', '.join(sorted(ENGINES))}, or package.module:attribute")
    opener = imported(f"engine {settings.engine}", target)
    engine = called(f"engine {settings.engine}", lambda: cast(Callable[[ModelSettings], ChatModel], opener)(settings))
    return AdmittedChat(BrokenCallsChat(engine), Admission(settings.max_in_flight))
