"""How a model is reached and sampled, as a flow.yaml says it; the API key is never part of it."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Self
from urllib.parse import urlsplit

from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from synth.keys.literals import key_like
from synth.keys.looks import looks_like_key, names_a_variable, sendable
from synth.schemas import ConfigError, Sampling, Usage, canonical_json

OPENAI_URL = "https://api.openai.com/v1"
NO_KEY = "none"
"""Sent to servers that ask for no key; too short to be looked for in replies."""
_OURS = frozenset({"model", "messages", "tools", "n", "stream"})
_WITHOUT_A_SERVER = frozenset({"transformers", "vllm_offline"})
"""Engines whose model is in a process of the run's own."""
_NOT_FOR = (
    (
        {"token_ids", "logprobs"},
        {"openai"},
        "does not ask for it; choose `engine: vllm`, or put what your server takes into extra_body",
    ),
    (
        {"python", "server_args"},
        {"openai", "transformers", "vllm"},
        "starts no server; choose `engine: vllm_local`, or remove it",
    ),
)
"""Settings, the engines that do nothing with them, and what to do."""


class Price(BaseModel):
    """USD per million tokens; cached prompt tokens cost as much as others where `cached` is not
    given.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False
    )

    input: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    output: float = Field(ge=0)

    def priced(self, usage: Usage) -> Usage:
        """The usage of one call with its cost."""
        return replace(usage, cost_usd=self.cost_usd(usage))

    def cost_usd(self, usage: Usage) -> float:
        """(prompt - cached) x input + cached x cached + completion x output, per million."""
        cached = self.input if self.cached is None else self.cached
        fresh = max(usage.prompt_tokens - usage.cached_tokens, 0)
        return (
            fresh * self.input
            + usage.cached_tokens * cached
            + usage.completion_tokens * self.output
        ) / 1e6


class ModelSettings(BaseModel):
    """One model behind an OpenAI-compatible server, or behind several (`base_url` as a list, engine
    vllm).

    `api_key_env` names the environment variable that holds the key; it is read when the model is
    opened. Without `base_url` it is OPENAI_API_KEY; with a `base_url` and no `api_key_env` the
    server is sent the key "none". OPENAI_BASE_URL is not read: where the work goes stands in the
    flow. `timeout_s` bounds one try, `total_timeout_s` a call with all its tries and waits.
    `token_ids` and `logprobs` say what engine vllm asks for beside the text; they are no part of
    the work's identity. `python` is the interpreter of vLLM's environment and `server_args` are
    flags of its server (engine vllm_local).
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False
    )

    engine: str = "openai"
    base_url: str | tuple[str, ...] | None = None
    model: str = Field(min_length=1)
    max_in_flight: int = Field(default=32, ge=1)
    api_key_env: str | None = None
    timeout_s: float = Field(default=120.0, gt=0)
    connect_timeout_s: float = Field(default=10.0, gt=0)
    total_timeout_s: float = Field(default=600.0, gt=0)
    max_retries: int = Field(default=4, ge=0)
    token_ids: bool = True
    logprobs: bool = False
    python: str | None = None
    server_args: tuple[str, ...] = ()
    price: Price | None = None
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    stop: tuple[str, ...] = ()
    extra_body: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _no_literal_key(cls, value: Any) -> Any:
        """Raises `ConfigError` itself: pydantic's own errors carry the input, and so the key, and
        would name the branch of a union that was tried first.
        """
        given = value if isinstance(value, Mapping) else {}
        if "api_key" in given:
            raise ConfigError(
                "api_key: a key is not written into a flow; put it into an environment variable "
                "and name that as api_key_env"
            )
        urls = given.get("base_url", ())
        listed = urls if isinstance(urls, list | tuple) else [urls or ""]
        if not all(isinstance(url, str) for url in listed):
            raise ConfigError(
                "base_url: it is the address of a server, such as http://127.0.0.1:8000/v1, or a "
                "list of such addresses"
            )
        return value

    @field_validator("base_url")
    @classmethod
    def _are_plain_urls(cls, value: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        if value is None or isinstance(value, str):
            return None if value is None else _plain_url(value)
        urls = tuple(map(_plain_url, value))
        if not urls or len(set(urls)) < len(urls):
            raise ConfigError("base_url: a list names at least one server, and each only once")
        return urls

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        for problem in self._problems():
            raise ConfigError(problem)
        try:
            canonical_json(self.extra_body)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise ConfigError(f"extra_body: it cannot be sent as JSON: {error}") from error
        return self

    def _problems(self) -> Iterator[str]:
        """Where a key stands that others could read; then what would be set in vain, since synth or
        the engine takes it from elsewhere.
        """
        if self.api_key_env is not None and not names_a_variable(self.api_key_env):
            yield (
                "api_key_env: this is the name of an environment variable (such as "
                "OPENAI_API_KEY), not the key itself"
            )
        if keys := ", ".join(key_like(self.extra_body)):
            yield (
                f"extra_body: {keys} holds a key, and would be stored with the run; use api_key_env"
            )
        for shown in key_like({"server_args": self.server_args}):
            yield (
                f"{shown}: this looks like a key, and every user of the machine could read it; "
                "vLLM takes it as VLLM_API_KEY"
            )

        if taken := ", ".join(sorted(_OURS & self.extra_body.keys())):
            yield f"extra_body: {taken} is set by synth itself; remove it"
        for names, engines, why in _NOT_FOR:
            for name in sorted(names & self.model_fields_set if self.engine in engines else ()):
                yield f"{name}: engine {self.engine} {why}"

    @property
    def base_urls(self) -> tuple[str, ...]:
        """The servers that are named."""
        return (self.base_url,) if isinstance(self.base_url, str) else self.base_url or ()

    def sampling(self) -> Sampling:
        """How replies are drawn: the part of the settings that is part of the work's identity."""
        return Sampling(
            self.temperature, self.top_p, self.max_tokens, self.seed, self.stop, self.extra_body
        )

    def key_variable(self) -> str | None:
        """The environment variable that holds the key; None where the server is asked without
        one.
        """
        asks_nobody = self.engine in _WITHOUT_A_SERVER
        if self.api_key_env is not None or self.base_url is not None or asks_nobody:
            return self.api_key_env
        return "OPENAI_API_KEY"


def _plain_url(value: str) -> str:
    """The URL without a slash at its end. Raises `ConfigError` without the value: a key may stand
    in it.
    """
    try:
        parts = urlsplit(value)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(f"base_url: {error}; it looks like http://127.0.0.1:8000/v1") from error
    if "@" in parts.netloc:
        raise ConfigError(
            "base_url: it holds a user name or password; put the key into an environment variable "
            "(api_key_env)"
        )
    holds_key = any(looks_like_key(piece) for piece in re.split(r"[/.:=&?#]", value))
    if parts.query or parts.fragment or holds_key:
        raise ConfigError(
            "base_url: it ends with its path, such as /v1; a key goes into an environment "
            "variable (api_key_env)"
        )
    sound = parts.scheme in ("http", "https") and host and port != 0
    if not sound or not re.fullmatch("[!-~]*", value):
        raise ConfigError(f"base_url: {value!r} is no URL; it looks like http://127.0.0.1:8000/v1")
    return value.rstrip("/")


def api_key(settings: ModelSettings, environ: Mapping[str, str] = os.environ) -> str:
    """The key from the environment, or "none" where none is asked for. Raises `ConfigError` where
    the variable is not set.
    """
    variable = settings.key_variable()
    if variable is None:
        return NO_KEY
    key = environ.get(variable, "").strip()
    if not key:
        raise ConfigError(
            f"model {settings.model}: the environment variable {variable} is not set; export it, "
            "or name another as api_key_env"
        )
    if not sendable(key):
        raise ConfigError(
            f"model {settings.model}: the key in {variable} holds white space, a quote or a "
            "character outside printable ASCII, which no key has; copy it again"
        )
    return key
