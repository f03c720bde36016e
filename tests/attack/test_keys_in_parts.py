"""A server sends the model's key in parts, each of which holds too little of it: what synth puts
together from them holds no key.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from synth.models.registry import open_model
from synth.models.servers.chat_request import Post
from synth.models.servers.http_chat import open_vllm
from synth.models.settings import ModelSettings
from synth.schemas.model import Completion, Sampling
from tests.attack.echoing_server import EchoingServer
from tests.attack.hostile_server import whole
from tests.attack.key_echoes import texts, told
from tests.attack.test_keys_in_bad_http import KEY, OPENERS, synth

HALF = len(KEY) // 2
FIRST, LAST = KEY[:HALF], KEY[HALF:]
CALL = '<tool_call>{"name": "put", "arguments": {"a": 1}}</tool_call>'
TOOLS = [{"type": "function", "function": {"name": "put", "parameters": {"type": "object"}}}]
MESSAGES: dict[str, dict[str, Any]] = {
    "content in two parts": {
        "content": [
            {"type": "text", "text": f"my key is {FIRST}"},
            {"type": "text", "text": f"{LAST} ok"},
        ]
    },
    "content letter by letter": {"content": [{"type": "text", "text": letter} for letter in KEY]},
    "content around a call": {"content": f"my key is {FIRST}{CALL}{LAST} ok"},
    "thought around a call": {
        "content": None,
        "reasoning_content": f"my key is {FIRST}{CALL}{LAST} ok",
    },
    "a call in two parts": {
        "content": [
            {"type": "text", "text": f'<tool_call>{{"name": "put", "arguments": {{"a": "{FIRST}'},
            {"type": "text", "text": f'{LAST}"}}}}</tool_call>'},
        ]
    },
}


@pytest.fixture
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)


def reply(message: dict[str, Any]) -> bytes:
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", **message},
        "token_ids": [5, 6],
    }
    return whole(
        json.dumps(
            {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]}
        ).encode(),
        Connection="close",
    )


async def completed(settings: ModelSettings) -> Completion:
    model = open_model(settings)
    found = await model.complete([{"role": "user", "content": "hello"}], TOOLS, Sampling())
    await model.close()
    return found


@pytest.mark.usefixtures("_key")
@pytest.mark.parametrize("engine", OPENERS)
@pytest.mark.parametrize("kind", MESSAGES)
def test_a_key_that_is_put_together_from_parts_of_a_reply_is_removed(
    kind: str, engine: str
) -> None:
    with EchoingServer(lambda key: reply(MESSAGES[kind]), "/chat") as server:
        found = asyncio.run(
            completed(
                ModelSettings(engine=engine, base_url=server.url, model="m", api_key_env="MY_KEY")
            )
        )
    said = msgspec.json.encode(found).decode()
    assert "[key]" in said
    assert "api_key_removed" in found.repairs
    assert (found.raw, found.completion_token_ids) == (None, None)
    assert not told(said, KEY)
    assert all(call.parse_error is None for call in found.tool_calls)


@pytest.mark.parametrize("engine", OPENERS)
def test_a_run_and_the_doctor_hold_no_key_that_came_in_parts(engine: str, tmp_path: Path) -> None:
    with EchoingServer(lambda key: reply(MESSAGES["content in two parts"]), "/chat") as server:
        model = {"engine": engine, "model": "m", "base_url": server.url, "api_key_env": "MY_KEY"}
        flow = {
            "name": "m",
            "env": {"name": "echo", "tasks": 1},
            "models": {"explorer": model},
            "stages": [{"rollout": {"trials": 1}}],
        }
        (tmp_path / "m.yaml").write_text(yaml.safe_dump(flow))
        ran = synth(tmp_path, "run", "m.yaml", "--run-dir", "r")
        examined = synth(tmp_path, "doctor", "--endpoint", server.url, "--api-key-env", "MY_KEY")
    left = texts(tmp_path) | {
        "run": ran.stdout + ran.stderr,
        "doctor": examined.stdout + examined.stderr,
    }
    assert "my key is [key] ok" in left["doctor"], left["doctor"]
    assert "api_key_removed" in left["run"], left["run"]
    assert {name for name, text in left.items() if told(text, KEY, 1)} == set()


@pytest.mark.usefixtures("_key")
def test_an_answer_that_is_no_reply_is_read_without_the_key() -> None:
    async def read(url: str) -> bytes:
        model = open_vllm(
            ModelSettings(engine="vllm", base_url=url, model="m", api_key_env="MY_KEY")
        )
        found = await model.request(Post("/completions", b"{}", []), lambda received: received.body)
        await model.close()
        return found

    with EchoingServer(
        lambda key: whole(b'{"error": "no ' + key + b'"}'), "/completions"
    ) as server:
        assert asyncio.run(read(server.url)) == b'{"error": "no [key]"}'
