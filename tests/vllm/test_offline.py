"""Engine `vllm_offline` on vLLM's own `LLM`: what it says and scores is what a server with the same
weights says and scores.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from synth.models.registry import open_model, open_scoring
from synth.models.settings import ModelSettings
from synth.schemas.model import Completion, Message, ModelError, Sampling, Scored
from tests.vllm.server import MODEL_NAME, VLLMServer
from tests.vllm.test_local import CHATS, TOOL

pytestmark = [pytest.mark.vllm, pytest.mark.nightly]
FLAGS = ("--dtype=float32", "--max-model-len=4096", "--max-num-seqs=16", "--enforce-eager")
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}
FORM = {"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": SCHEMA}}
GREEDY = Sampling(temperature=0, max_tokens=12)


def chat(text: str) -> list[Message]:
    return [{"role": "user", "content": text}]


async def asked(settings: ModelSettings) -> tuple[list[Any], list[Scored]]:
    """Five calls at once, then two chats that are scored."""
    model, scoring = open_model(settings), open_scoring(settings)
    try:
        replies = await asyncio.gather(
            model.complete(chat("Where is my order?"), (), GREEDY),
            model.complete(chat("Who are you?"), (TOOL,), GREEDY),
            model.complete(chat("Is it so?"), (), Sampling(extra={"response_format": FORM})),
            model.complete(chat("no " * 20_000), (), GREEDY),
            model.complete(chat("So?"), (TOOL,), Sampling(extra={"tool_choice": "required"})),
            return_exceptions=True,
        )
        return list(replies), [await scoring.score(one, (TOOL,)) for one in CHATS]
    finally:
        await model.close()
        await scoring.close()


@pytest.fixture(scope="module")
def both(
    server: VLLMServer, vllm_python: Path, model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """From the process, and from the server."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}.items():
            patch.setenv(name, value)
        patch.setenv("SYNTH_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        same = {"logprobs": True, "timeout_s": 300, "max_retries": 0}
        own = ModelSettings(
            engine="vllm_offline",
            model=str(model),
            python=str(vllm_python),
            server_args=FLAGS,
            **same,
        )
        served = ModelSettings(engine="vllm", model=MODEL_NAME, base_url=server.url, **same)
        return asyncio.run(asked(own)), asyncio.run(asked(served))


def test_it_says_what_a_server_says(both: Any) -> None:
    (replies, _), (served, _) = both
    for reply, other in zip(replies[:2], served[:2], strict=True):
        assert isinstance(reply, Completion)
        assert reply.completion_token_ids == other.completion_token_ids
        assert reply.prompt_token_ids == other.prompt_token_ids
        assert reply.logprobs == pytest.approx(other.logprobs, abs=1e-2)
        assert reply.finish_reason == other.finish_reason
        assert reply.usage.prompt_tokens == other.usage.prompt_tokens
    assert json.loads(replies[2].content)["answer"] in ("yes", "no")


def test_what_it_refuses_is_told_as_a_servers_refusal(both: Any) -> None:
    ((_, _, _, too_long, required), _), _ = both
    assert isinstance(too_long, ModelError)
    assert too_long.context_overflow
    assert isinstance(required, ModelError)
    assert "needs a server" in str(required)


def test_it_scores_what_a_server_scores(both: Any) -> None:
    (_, scored), (_, served) = both
    for one, other in zip(scored, served, strict=True):
        assert one.not_scored is None
        assert (one.chat, one.places, one.template_hash) == (
            other.chat,
            other.places,
            other.template_hash,
        )
        assert [token.token_id for token in one.tokens] == [t.token_id for t in other.tokens]
        for token, beside in zip(one.tokens, other.tokens, strict=True):
            assert token.logprob == pytest.approx(beside.logprob, abs=1e-2)
