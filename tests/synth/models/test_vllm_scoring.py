"""Scoring against a server with a known template and known probabilities (chat_tokens)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from synth.models.registry import open_scoring
from synth.models.settings import ModelSettings
from synth.schemas.errors import ConfigError
from synth.schemas.model import ModelError, Scored
from tests.synth.models.chat_server import ChatServer
from tests.synth.models.chat_tokens import logprob, rank

TOOLS = ({"type": "function", "function": {"name": "f", "parameters": {}}},)
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CHAT = [
    {"role": "user", "content": "ask"},
    {"role": "assistant", "content": "go"},
    {"role": "user", "content": "more"},
    {"role": "assistant", "content": "end."},
]


def scored(
    chat: list[dict[str, Any]],
    tools: Any = (),
    prepare: Callable[[ChatServer], None] = lambda server: None,
) -> Scored:
    async def scene(server: ChatServer) -> Scored:
        model = open_scoring(
            ModelSettings(engine="vllm", base_url=server.url, model="test-model", max_retries=0)
        )
        try:
            return await model.score(chat, tools)
        finally:
            await model.close()

    with ChatServer() as server:
        prepare(server)
        return asyncio.run(scene(server))


def test_what_the_assistant_wrote_is_scored_token_by_token_without_headers_and_ends() -> None:
    found = scored(CHAT)
    assert bytes(token.token_id for token in found.tokens) == b"goend."
    assert found.turn_of_token == (0, 0, 1, 1, 1, 1)
    assert [(token.logprob, token.rank) for token in found.tokens] == [
        (logprob(letter), rank(letter)) for letter in b"goend."
    ]
    assert (found.not_scored, found.tools_rendered) == (None, True)


def test_calls_are_scored_as_the_template_writes_them_and_tools_are_shown() -> None:
    chat = [
        CHAT[0],
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c", "content": "r"},
    ]
    found = scored(chat, TOOLS)
    assert bytes(token.token_id for token in found.tokens).startswith(
        b'[{"id": "c", "type": "function"'
    )
    assert set(found.turn_of_token) == {0}
    assert found.tools_rendered


def test_a_template_that_does_not_show_the_tools_scores_no_chat_that_has_them() -> None:
    def hides(server: ChatServer) -> None:
        server.renders_tools = False

    found = scored(CHAT, TOOLS, hides)
    assert (found.tokens, found.tools_rendered, found.not_scored) == (
        (),
        False,
        "tools_not_rendered",
    )
    assert scored(CHAT, (), hides).not_scored is None


def test_a_template_that_renders_earlier_turns_otherwise_later_on_scores_nothing() -> None:
    def forgets(server: ChatServer) -> None:
        server.forgetful = True

    found = scored(
        [*CHAT, {"role": "user", "content": "on"}, {"role": "assistant", "content": "ok"}],
        (),
        forgets,
    )
    assert (found.tokens, found.not_scored) == ((), "template_changes_earlier_turns")


def test_a_chat_longer_than_the_context_is_not_scored_and_says_so() -> None:
    def short(server: ChatServer) -> None:
        server.context = 20

    assert scored(CHAT, (), short).not_scored == "context_length"


def test_templates_are_told_apart_by_what_they_make_of_a_chat() -> None:
    def hides(server: ChatServer) -> None:
        server.renders_tools = False

    assert (
        scored(CHAT).template_hash
        == scored(CHAT[:2]).template_hash
        != scored(CHAT, (), hides).template_hash
    )


def test_a_chat_without_an_assistant_has_nothing_to_score() -> None:
    found = scored(CHAT[:1])
    assert (found.tokens, found.turn_of_token, found.places, found.not_scored) == ((), (), (), None)
    assert (found.template_hash, found.tools_rendered) == (scored(CHAT).template_hash, True)


def test_an_engine_that_gives_no_probabilities_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"engine openai gives no probabilities of prompts; known: .*vllm"
    ):
        open_scoring(ModelSettings(model="m", base_url="http://x/v1"))


def test_a_server_that_is_gone_is_a_model_error() -> None:
    with ChatServer() as server:
        pass

    async def scene() -> None:
        model = open_scoring(
            ModelSettings(engine="vllm", base_url=server.url, model="test-model", max_retries=0)
        )
        try:
            await model.score(CHAT, ())
        finally:
            await model.close()

    with pytest.raises(ModelError, match="connection lost"):
        asyncio.run(scene())
