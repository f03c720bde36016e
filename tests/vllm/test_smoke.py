"""The engine `vllm` against vLLM itself: what the server reports reaches the ledger, and a server
that dies costs nothing that was paid.
"""

import asyncio
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from synth.ledger import StoredLedger
from synth.models.servers.http_chat import open_vllm
from synth.models.servers.vllm_scoring import open_scoring
from synth.models.settings import ModelSettings
from synth.schemas.model import Completion, Message, Sampling, Scored
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import ToolSchema
from tests.flow_files import SYNTH
from tests.vllm.server import MODEL_NAME, VLLMServer

pytestmark = pytest.mark.vllm
SYSTEM = {"role": "system", "content": "You answer customers of a shop. " * 100}
CHAT: list[Message] = [SYSTEM, {"role": "user", "content": "Where is my order?"}]
COUNT = Sampling(temperature=1.0, max_tokens=16, seed=5)
TOOL: ToolSchema = {
    "type": "function",
    "function": {
        "name": "cancel_order",
        "description": "Cancels an order.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"order_id": {"type": "string", "enum": ["O-1", "O-2"]}},
            "required": ["order_id"],
            "additionalProperties": False,
        },
    },
}


def asked(
    server: VLLMServer,
    *chats: list[Message],
    tools: tuple[ToolSchema, ...] = (),
    sampling: Sampling = COUNT,
) -> list[Completion]:
    async def ask() -> list[Completion]:
        model = open_vllm(
            ModelSettings(
                engine="vllm", model=MODEL_NAME, base_url=server.url, logprobs=True, timeout_s=300
            )
        )
        try:
            return [await model.complete(chat, tools, sampling) for chat in chats]
        finally:
            await model.close()

    return asyncio.run(ask())


def test_a_reply_carries_the_tokens_that_the_model_saw_and_drew_and_the_weights_that_drew_them(
    server: VLLMServer,
) -> None:
    (reply,) = asked(server, CHAT)
    assert reply.prompt_token_ids is not None
    assert reply.completion_token_ids is not None
    assert reply.logprobs is not None
    assert len(reply.prompt_token_ids) == reply.usage.prompt_tokens > 500
    assert (
        len(reply.completion_token_ids)
        == len(reply.logprobs)
        == reply.usage.completion_tokens
        == 16
    )
    assert max(reply.logprobs) <= 0
    assert reply.weights_id is not None
    assert (reply.finish_reason, reply.model) == ("length", MODEL_NAME)


def test_the_same_seed_draws_the_same_and_the_second_prompt_comes_from_the_prefix_cache(
    server: VLLMServer,
) -> None:
    hits = server.metric("vllm:prefix_cache_hits_total")
    chat = [{**SYSTEM, "content": f"A prefix of this test. {SYSTEM['content']}"}, CHAT[1]]
    first, second = asked(server, chat, chat)
    assert first.completion_token_ids == second.completion_token_ids
    assert first.usage.cached_tokens == 0
    assert second.usage.cached_tokens > 0.8 * second.usage.prompt_tokens
    assert server.metric("vllm:prefix_cache_hits_total") - hits == second.usage.cached_tokens


def test_a_named_strict_tool_is_called_with_arguments_of_its_schema(server: VLLMServer) -> None:
    named = {"tool_choice": {"type": "function", "function": {"name": "cancel_order"}}}
    (reply,) = asked(
        server,
        CHAT,
        tools=(TOOL,),
        sampling=Sampling(temperature=1.0, max_tokens=200, seed=1, extra=named),
    )
    (call,) = reply.tool_calls
    assert call.name == "cancel_order"
    assert call.parse_error is None
    assert json.loads(call.arguments)["order_id"] in ("O-1", "O-2")


def test_structured_output_holds_the_reply_to_its_choices(server: VLLMServer) -> None:
    choices = {"structured_outputs": {"choice": ["yes", "no"]}}
    replies = asked(
        server, CHAT, CHAT, sampling=Sampling(temperature=1.0, max_tokens=20, extra=choices)
    )
    assert {reply.content for reply in replies} <= {"yes", "no"}


def test_past_thoughts_reach_the_model_and_are_scored_as_the_model_saw_them(
    server: VLLMServer,
) -> None:
    thought = "the parcel left on monday"
    plain: list[Message] = [CHAT[1], {"role": "assistant", "content": "yes"}]
    thoughtful: list[Message] = [
        CHAT[1],
        {"role": "assistant", "content": "yes", "reasoning_content": thought},
    ]
    with_thought, without = asked(server, [*thoughtful, CHAT[1]], [*plain, CHAT[1]])

    async def scored() -> Scored:
        model = open_scoring(
            ModelSettings(engine="vllm", model=MODEL_NAME, base_url=server.url, timeout_s=300)
        )
        try:
            return await model.score(thoughtful, ())
        finally:
            await model.close()

    tokens = [token.token_id for token in asyncio.run(scored()).tokens]
    seen = list(with_thought.prompt_token_ids or ())
    longer = len(seen) - len(without.prompt_token_ids or ())
    assert longer > 5
    assert len(tokens) > longer
    assert any(seen[i : i + len(tokens)] == tokens for i in range(len(seen)))


def flow_file(folder: Path, server: VLLMServer, trials: int) -> Path:
    model = {
        "engine": "vllm",
        "model": MODEL_NAME,
        "base_url": server.url,
        "max_in_flight": 8,
        "max_tokens": 24,
        "temperature": 1.0,
    }
    content: dict[str, Any] = {
        "name": "smoke",
        "seed": 1,
        "env": {"name": "storefront", "tasks": 6},
        "models": {"explorer": model | {"timeout_s": 300, "max_retries": 5}},
        "stages": [
            {"rollout": {"trials": trials, "shard": 6, "limits": {"max_turns": 5}}},
            {"filter": ["solved", "reexecuted"]},
        ],
    }
    path = folder / "smoke.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def synth(path: Path, run: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*SYNTH, "run", str(path), "--run-dir", str(run)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_rollouts_in_the_storefront_end_with_verdicts_and_play_again_exactly(
    server: VLLMServer, tmp_path: Path
) -> None:
    process = synth(flow_file(tmp_path, server, trials=2), tmp_path / "run")
    out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    trajectories = list(StoredLedger(str(tmp_path / "run")).trajectories())
    assert len(trajectories) == 12
    assert {trajectory.outcome for trajectory in trajectories} <= {
        Outcome.SUCCESS,
        Outcome.FAILURE,
        Outcome.TRUNCATED,
    }
    turns = [turn for trajectory in trajectories for turn in trajectory.turns]
    assert all(
        turn.completion_token_ids and turn.usage is not None and turn.usage.prompt_tokens > 0
        for turn in turns
    )
    assert "observation_differs" not in out


@pytest.mark.nightly
def test_a_run_survives_its_server_killed_and_started_again_and_asks_for_no_reply_twice(
    server: VLLMServer, tmp_path: Path
) -> None:
    process = synth(flow_file(tmp_path, server, trials=6), tmp_path / "run")
    served, deadline = server.metric("vllm:request_success_total"), time.monotonic() + 300
    while server.metric("vllm:request_success_total") < served + 60:
        assert process.poll() is None, "the run ended before the server was killed"
        assert time.monotonic() < deadline
        time.sleep(0.1)
    server.kill()
    server.start()
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    rows = list(StoredLedger(str(tmp_path / "run")).records())
    assert [row["fault"] for row in rows] == [None] * 36
    calls = sum(row["model_calls"] for row in rows)
    assert 0 < server.metric("vllm:request_success_total") <= calls - 60
