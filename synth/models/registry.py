"""Engines by name; opening one imports it, importing this does not."""

from collections.abc import Callable, Mapping
from typing import cast

from synth.boundary import guard, imported
from synth.models.admission import AdmittedChat, AdmittedScoring, ConcurrencyLimit
from synth.models.broken_calls import BrokenCallsChat
from synth.models.refused_features import FittingChat
from synth.models.settings import ModelSettings
from synth.schemas import ChatModel, ConfigError, ScoringModel

ENGINES: dict[str, str] = {
    "openai": "synth.models.servers.http_chat:open_openai",
    "transformers": "synth.models.local.transformers_chat:open_model",
    "vllm": "synth.models.servers.http_chat:open_vllm",
    "vllm_local": "synth.models.servers.http_chat:open_vllm_local",
    "vllm_offline": "synth.models.local.vllm_offline:open_model",
}

SCORING: dict[str, str] = {
    "transformers": "synth.models.local.transformers_scoring:open_scoring",
    "vllm": "synth.models.servers.vllm_scoring:open_scoring",
    "vllm_local": "synth.models.servers.vllm_scoring:open_scoring",
    "vllm_offline": "synth.models.local.vllm_offline:open_scoring",
}


def open_model(settings: ModelSettings) -> ChatModel:
    """The engine that the settings name, with what every transport shares: histories that it
    refuses (broken_calls), features that it has not (refused_features),
    and admission of `max_in_flight` calls.

    Raises `ConfigError` for an engine that is neither registered nor importable as
    `package.module:attribute`, and for a key that is not in the environment.
    """
    engine = cast(ChatModel, _opened(settings, ENGINES, "is not known"))
    return AdmittedChat(
        BrokenCallsChat(FittingChat(engine)), ConcurrencyLimit(settings.max_in_flight)
    )


def open_scoring(settings: ModelSettings) -> ScoringModel:
    """The engine as one that gives probabilities, `max_in_flight` texts at a time. Raises
    `ConfigError` as `open_model` does, and for an engine that gives none.
    """
    engine = cast(ScoringModel, _opened(settings, SCORING, "gives no probabilities of prompts"))
    return AdmittedScoring(engine, ConcurrencyLimit(settings.max_in_flight))


def _opened(settings: ModelSettings, engines: Mapping[str, str], unfit: str) -> object:
    target = engines.get(settings.engine, settings.engine)
    if ":" not in target:
        raise ConfigError(
            f"engine {settings.engine} {unfit}; known: {', '.join(sorted(engines))}, or "
            "package.module:attribute"
        )
    opener = imported(f"engine {settings.engine}", target)
    return guard(
        f"engine {settings.engine}",
        lambda: cast(Callable[[ModelSettings], object], opener)(settings),
    )
