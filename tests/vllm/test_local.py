"""Engine `vllm_local` starts, loses and regains a real vLLM; what vLLM scores is what
`transformers` scores on the same text.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.filters.rank_surprisal.decisions import copied, scaffolding
from synth.filters.rank_surprisal.ratio import summed
from synth.models.registry import open_model, open_scoring
from synth.models.settings import ModelSettings
from synth.schemas.errors import ConfigError
from synth.schemas.model import Completion, Message, Sampling, Scored
from synth.schemas.trajectory import ToolSchema
from tests.vllm.server import FLAGS, MODEL_NAME, VLLMServer

pytestmark = pytest.mark.vllm
ROOT = Path(__file__).parents[2]
ASK: list[Message] = [{"role": "user", "content": "Where is my order?"}]
TOOL: ToolSchema = {
    "type": "function",
    "function": {
        "name": "find_order",
        "description": "Finds.",
        "parameters": {"type": "object", "properties": {"id": {"type": "string"}}},
    },
}
CALL = {
    "id": "c",
    "type": "function",
    "function": {"name": "find_order", "arguments": '{"id": "é-1", "deep": {"b": [1, 2.5]}}'},
}
CHATS: list[list[Message]] = [
    [*ASK, {"role": "assistant", "content": "It is on its way to you."}],
    [
        {"role": "system", "content": "You answer customers of a shop."},
        *ASK,
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c", "content": '{"state": "sent"}'},
        {"role": "assistant", "content": "Sent.\n\nAnything   else? 🚚"},
        {"role": "user", "content": "no " * 300},
        {"role": "assistant", "content": "Fine. " * 100},
    ],
]
IN_PROCESS = """
import asyncio, json, sys
from msgspec import to_builtins
from synth.models.settings import ModelSettings
from synth.models.local.transformers_scoring import open_scoring

async def run(model, chats, tools):
    scoring = open_scoring(ModelSettings(engine="transformers", model=model))
    try:
        return [to_builtins(await scoring.score(chat, tools)) for chat in chats]
    finally:
        await scoring.close()

print(json.dumps(asyncio.run(run(*json.load(sys.stdin)))))
"""


def settings(python: Path, model: Path, *server_args: str) -> ModelSettings:
    return ModelSettings(
        engine="vllm_local",
        model=str(model),
        python=str(python),
        server_args=(*FLAGS, *server_args),
        logprobs=True,
        timeout_s=300,
    )


@pytest.fixture
def cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def processes_of(model: Path) -> dict[int, bytes]:
    """The command lines of the processes whose command line names the model, by process id."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if f"--model={model}".encode() in command:
            found[int(folder.name)] = command
    return found


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def kill_worker_or_server(model: Path, who: str) -> None:
    worker = next(
        process
        for process, command in processes_of(model).items()
        if b"vllm_local_worker" in command
    )
    server = next(
        process
        for process in processes_of(model)
        if process != worker and parent_of(process) == worker
    )
    os.kill({"worker": worker, "server": server}[who], signal.SIGKILL)


@pytest.mark.usefixtures("cpu")
@pytest.mark.nightly
def test_a_local_vllm_is_started_killed_regained_and_ended_with_the_model(
    vllm_python: Path, model: Path, tmp_path: Path
) -> None:
    model = shutil.copytree(
        model, tmp_path / "model"
    )  # a path that no other server's command line names

    async def scene() -> list[Completion]:
        chat = open_model(settings(vllm_python, model))
        sampling = Sampling(temperature=1.0, max_tokens=16, seed=5)
        try:
            replies = [await chat.complete(ASK, (TOOL,), sampling)]
            for who in ("server", "worker"):
                kill_worker_or_server(model, who)
                replies.append(await chat.complete(ASK, (TOOL,), sampling))
            return replies
        finally:
            await chat.close()

    replies = asyncio.run(scene())
    first = replies[0].completion_token_ids
    assert first is not None
    assert len(first) == 16
    assert [reply.completion_token_ids for reply in replies] == [first] * 3
    assert [reply.weights_id for reply in replies] == [str(model)] * 3
    deadline = time.monotonic() + 10
    while processes_of(model):
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.usefixtures("cpu")
@pytest.mark.nightly
def test_flags_that_vllm_refuses_are_told_in_its_own_words(vllm_python: Path, model: Path) -> None:
    async def scene() -> None:
        chat = open_model(settings(vllm_python, model, "--no-such-flag"))
        try:
            await chat.complete(ASK, (), Sampling())
        finally:
            await chat.close()

    with pytest.raises(
        ConfigError,
        match=r"vLLM does not start: .*unrecognized arguments: --no-such-flag.*its log is /",
    ):
        asyncio.run(scene())


@pytest.mark.nightly
def test_vllm_and_transformers_score_the_same_text_the_same(
    server: VLLMServer, vllm_python: Path, model: Path
) -> None:
    async def served() -> list[Scored]:
        scoring = open_scoring(
            ModelSettings(engine="vllm", model=MODEL_NAME, base_url=server.url, timeout_s=300)
        )
        try:
            return [await scoring.score(chat, (TOOL,)) for chat in CHATS]
        finally:
            await scoring.close()

    there: list[dict[str, Any]] = json.loads(
        subprocess.run(
            [vllm_python, "-c", IN_PROCESS],
            input=json.dumps([str(model), CHATS, [TOOL]]),
            env=os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    for chat, found, expected in zip(CHATS, asyncio.run(served()), there, strict=True):
        assert found.not_scored is None
        assert found.template_hash == expected["template_hash"]
        assert list(found.turn_of_token) == expected["turn_of_token"]
        assert [token.token_id for token in found.tokens] == [
            token["token_id"] for token in expected["tokens"]
        ]
        assert len(found.tokens) > 5
        differ = 0
        for token, other in zip(found.tokens, expected["tokens"], strict=True):
            assert token.logprob == pytest.approx(other["logprob"], abs=1e-2)
            assert abs(token.rank - other["rank"]) <= 1  # two logits within rounding
            differ += token.rank != other["rank"]
        assert differ <= len(found.tokens) // 50
        other = msgspec.convert(expected, Scored)
        assert (found.chat, found.places) == (other.chat, other.places)
        assert summed(found.tokens).ratio == pytest.approx(summed(other.tokens).ratio, rel=5e-3)
        assert scaffolding(found, chat) == scaffolding(other, chat)
        assert copied(found, 6) == copied(other, 6)
