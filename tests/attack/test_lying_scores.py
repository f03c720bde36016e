"""Probabilities that are none, from a server that is asked to score a text."""

import asyncio
import json

import pytest
from aiohttp import web

from synth.models.servers.http_chat import open_vllm
from synth.models.servers.vllm_scoring import VLLMScoring
from synth.models.settings import ModelSettings
from synth.schemas.model import Message, ModelError
from tests.attack.lies import CANARY
from tests.synth.models.chat_server import ChatServer

ASKED: list[Message] = [{"role": "user", "content": "say: a b c"}]


PROBABILITIES = {
    "aborted": lambda found: found["choices"][0].update(finish_reason="abort"),
    "an error": lambda found: found.update(error={"message": CANARY}),
    "an error in the choice": lambda found: found["choices"][0].update(error=CANARY),
    "too few": lambda found: found["choices"][0]["prompt_logprobs"].pop(),
    "two texts": lambda found: found["choices"].append(found["choices"][0]),
    "no text": lambda found: found["choices"].clear(),
    "more than certain": lambda found: found["choices"][0]["prompt_logprobs"][1].update(
        {"1": {"logprob": 2.0, "rank": 1}}
    ),
    "rank nought": lambda found: found["choices"][0]["prompt_logprobs"][1].update(
        {"1": {"logprob": -1.0, "rank": 0}}
    ),
}


class LyingScorer(ChatServer):
    """Lies about probabilities, the first `lies` times that it is asked for them."""

    def __init__(self, kind: str, lies: int) -> None:
        super().__init__()
        self.kind, self.lies = kind, lies

    async def _score(self, request: web.Request) -> web.Response:
        honest = await super()._score(request)
        if self.scored > self.lies:
            return honest
        assert isinstance(honest.body, bytes)
        found = json.loads(honest.body)
        PROBABILITIES[self.kind](found)
        return web.json_response(found)


@pytest.mark.parametrize("kind", PROBABILITIES)
def test_probabilities_that_are_none_are_asked_for_again_and_then_a_fault(kind: str) -> None:
    said: list[Message] = [*ASKED, {"role": "assistant", "content": "a b c"}]

    async def scene(url: str) -> int:
        own = ModelSettings(engine="vllm", base_url=url, model="test-model", max_retries=1)
        scorer = VLLMScoring(open_vllm(own, draw=lambda: 0.0, sleep=_at_once))
        try:
            return len((await scorer.score(said, ())).tokens)
        finally:
            await scorer.close()

    with LyingScorer(kind, 1) as server:
        assert asyncio.run(scene(server.url)) > 0
    with LyingScorer(kind, 9) as server, pytest.raises(ModelError, match="is unusable"):
        asyncio.run(scene(server.url))


async def _at_once(seconds: float) -> None:
    return
