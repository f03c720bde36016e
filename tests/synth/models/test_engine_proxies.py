"""A provider is reached through the proxy that the environment names."""

import asyncio
from typing import Any

import pytest

from synth.models.servers.http_chat import open_openai
from synth.models.settings import ModelSettings
from synth.schemas.errors import ConfigError
from synth.schemas.model import Completion, Sampling
from tests.synth.models.chat_brains import messages_hash
from tests.synth.models.chat_server import ChatServer
from tests.synth.models.engines import QUESTION, Ask


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_proxy".upper(), raising=False)
    return monkeypatch


def completed(**settings: Any) -> Completion:
    async def scene() -> Completion:
        model = open_openai(ModelSettings(model="test-model", **settings), draw=lambda: 0.0)
        try:
            return await model.complete(QUESTION, (), Sampling())
        finally:
            await model.close()

    return asyncio.run(scene())


def test_a_provider_is_asked_through_the_proxy_that_the_environment_names(
    no_proxies: pytest.MonkeyPatch,
) -> None:
    with ChatServer() as proxy:
        no_proxies.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        reply = completed(base_url="http://provider.invalid/v1")
    assert reply.content == f"reply {messages_hash({'messages': QUESTION})}"
    assert proxy.headers[0]["Host"] == "provider.invalid"


def test_a_server_that_the_environment_excepts_is_asked_without_the_proxy(
    no_proxies: pytest.MonkeyPatch,
) -> None:
    no_proxies.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    no_proxies.setenv("NO_PROXY", "127.0.0.1")
    with ChatServer() as server:
        assert completed(base_url=server.url).finish_reason == "stop"


def test_a_proxy_of_another_kind_is_named_with_what_to_do(
    no_proxies: pytest.MonkeyPatch,
) -> None:
    no_proxies.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    with pytest.raises(ConfigError, match="goes through http proxies only; name such a one, or"):
        completed(base_url="http://provider.invalid/v1")


def test_only_a_provider_is_told_the_organization(
    engine: str, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    with ChatServer() as server:
        ask(server)
    told = server.headers[0].get("OpenAI-Organization")
    assert told == ("org-1" if engine == "openai" else None)
