"""Engine `vllm_offline`: a worker process that speaks lines, here one without vLLM; what waits is
one batch, what fails is told as a server's refusal is, and a process that dies is started again.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from synth.models.local import vllm_offline
from synth.models.local import vllm_offline_worker as worker
from synth.models.registry import open_model, open_scoring
from synth.models.settings import ModelSettings
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.model import Message, ModelError, Sampling

ASK: list[Message] = [{"role": "user", "content": "Where is it?"}]
FAKE = """
import json, os, sys
if "--refused" in sys.argv:
    sys.exit("ValueError: no such flag")
print("noise", file=sys.stderr)
print(json.dumps({"ready": True}), flush=True)
count = 0
for line in sys.stdin:
    one, count = json.loads(line), count + 1
    said = one["body"]["messages"][-1]["content"]
    if said == "die":
        os._exit(3)
    if said == "once" and not os.path.exists(sys.argv[1]):
        open(sys.argv[1], "w").close()
        os._exit(3)
    if said == "sleep":
        continue
    if said == "long":
        error = {"error": {"message": "This model's maximum context length is 9 tokens."}}
        print(json.dumps({"id": one["id"], "status": 400, "body": error}), flush=True)
        continue
    body = {"id": f"r{os.getpid()}-{count}", "choices": [{"index": 0, "finish_reason": "stop",
            "token_ids": [1], "message": {"role": "assistant", "content": said.upper()}}],
            "prompt_token_ids": [1, 2], "usage": {"prompt_tokens": 2, "completion_tokens": 1}}
    print(json.dumps({"id": one["id"], "status": 200, "body": body}), flush=True)
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    script = tmp_path / "fake.py"
    script.write_text(FAKE)
    monkeypatch.setattr(vllm_offline, "SCRIPT", script)
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def made(*flags: str, **more: Any) -> ModelSettings:
        given = {"python": sys.executable, "model": str(tmp_path / "died"), **more}
        return ModelSettings(engine="vllm_offline", server_args=flags, **given)

    return made


def replies(settings: ModelSettings, *texts: str) -> list[Any]:
    async def scene() -> list[Any]:
        chat = open_model(settings)
        try:
            calls = [
                chat.complete([{"role": "user", "content": text}], (), Sampling()) for text in texts
            ]
            return await asyncio.gather(*calls, return_exceptions=True)
        finally:
            await chat.close()

    return asyncio.run(scene())


def test_replies_come_from_a_process_without_a_server_or_a_key(settings: Any) -> None:
    found = replies(settings(), "a", "b")
    assert [one.content for one in found] == ["A", "B"]
    assert found[0].completion_token_ids == (1,)
    assert found[0].prompt_token_ids == (1, 2)
    assert found[0].weights_id.endswith("died"), "the folder of the weights"


def test_a_refusal_is_told_as_a_servers_is(settings: Any) -> None:
    (error,) = replies(settings(), "long")
    assert isinstance(error, ModelError)
    assert error.context_overflow
    assert not error.retryable


def test_a_late_reply_is_given_up(settings: Any) -> None:
    (error,) = replies(settings(timeout_s=0.3, max_retries=0), "sleep")
    assert isinstance(error, ModelError)
    assert error.timeout


def test_a_process_that_dies_is_started_again_and_asked_again(settings: Any) -> None:
    assert [one.content for one in replies(settings(), "once")] == ["ONCE"]


def test_one_that_always_dies_ends_the_run_and_names_its_log(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vllm_offline, "RESTARTS", 0)
    (error,) = replies(settings(max_retries=2), "die")
    assert isinstance(error, SynthError)
    assert str(error).startswith("vLLM: it has died 1 times; its log says why: ")


def test_a_model_that_does_not_load_is_told_in_its_own_words(settings: Any) -> None:
    (error,) = replies(settings("--refused"), "a")
    assert isinstance(error, ConfigError)
    assert "vLLM does not start: ValueError: no such flag" in str(error)


def test_roles_of_one_model_share_a_process_that_ends_with_the_last(settings: Any) -> None:
    async def scene() -> Any:
        one, two, scoring = open_model(settings()), open_model(settings()), open_scoring(settings())
        first, second = [await chat.complete(ASK, (), Sampling()) for chat in (one, two)]
        (process,) = [held._process for held in vllm_offline._SHARED.values()]
        await one.close()
        await scoring.close()
        alive = process.returncode is None
        await two.close()
        return first.content, second.content, alive, process.returncode, vllm_offline._SHARED

    first, second, alive, code, shared = asyncio.run(scene())
    assert (first, second, alive) == ("WHERE IS IT?", "WHERE IS IT?", True)
    assert code is not None
    assert not shared


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"base_url": "http://127.0.0.1:1/v1"}, "engine vllm_offline starts its own"),
        ({"python": "/nowhere/python"}, "is no interpreter"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: Any, more: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        open_model(settings(**more))


class FakeLLM:
    """Plays batches of numbers; refuses a batch with a 13 in it."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []

    def play(self, bodies: Sequence[Any]) -> list[dict[str, Any]]:
        numbers = [body["n"] for body in bodies]
        self.batches.append(numbers)
        if 13 in numbers:
            raise ValueError("thirteen")
        return [{"n": -number} for number in numbers]


def test_the_worker_plays_alike_requests_together_and_refuses_one_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "PLAYED", {"/x": lambda llm, bodies: llm.play(bodies)})
    llm = FakeLLM()
    bodies = [
        {"n": 1},
        {"n": 2, "tools": [1]},
        {"n": 13},
        {"n": 4},
        {"n": 5, "chat_template_kwargs": {"enable_thinking": False}},
    ]
    batch = [{"id": at, "path": "/x", "body": body} for at, body in enumerate(bodies)]
    batch.append({"id": 9, "path": "/y", "body": {}})
    found = {one["id"]: (one["status"], one["body"]) for one in worker.answers(llm, batch)}
    assert found[2] == (400, {"error": {"message": "thirteen"}})
    assert found[9][0] == 404
    assert {at: body for at, (status, body) in found.items() if status == 200} == {
        at: {"n": -bodies[at]["n"]} for at in (0, 1, 3, 4)
    }
    assert llm.batches == [[1, 13, 4], [1], [13], [4], [2], [5]]


def test_the_worker_takes_what_has_come_as_one_batch() -> None:
    lines = worker.Lines()
    for number in (1, 2, 3):
        lines.put({"id": number})
    assert [one["id"] for one in worker.gathered(lines) or ()] == [1, 2, 3]
    lines.put(None)
    assert worker.gathered(lines) is None
