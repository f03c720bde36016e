"""The worker process of engine vllm_local, with an interpreter that serves the test server instead
of vLLM.
"""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from synth.models.servers.http_chat import open_vllm_local as open_model
from synth.models.servers.server_chat import ServerChat
from synth.models.servers.vllm_scoring import open_scoring
from synth.models.settings import ModelSettings
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.model import Sampling

pytestmark = pytest.mark.slow
T = TypeVar("T")
ROOT = Path(__file__).parents[3]
CHAT = [{"role": "user", "content": "hello"}]
INTERPRETER = f"""#!{sys.executable}
import os, pathlib, sys, time
sys.path.insert(0, {str(ROOT)!r})
from tests.synth.models.chat_server import ChatServer

flags = dict(flag.partition("=")[::2] for flag in sys.argv[3:] if "=" in flag)
if "--broken" in sys.argv:
    sys.exit("ValueError: --broken is what it says")
starts = pathlib.Path(__file__).with_name("starts")
with starts.open("a") as file:
    file.write(f"{{os.getpid()}} {{' '.join(sys.argv[1:])}}\\n")
if "--doomed" in sys.argv and len(starts.read_text().splitlines()) > 1:
    sys.exit(3)
with ChatServer(port=int(flags["--port"])):
    time.sleep(600)
"""


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """Called as `python -m vllm... --port=P ...`; notes its starts in the file `starts`."""
    path = tmp_path / "python"
    path.write_text(INTERPRETER)
    path.chmod(0o755)
    return path


def settings(python: Path, *server_args: str, **more: Any) -> ModelSettings:
    return ModelSettings(
        engine="vllm_local", model="test-model", python=str(python), server_args=server_args, **more
    )


def using(model: ServerChat, scene: Callable[[ServerChat], Coroutine[Any, Any, T]]) -> T:
    async def run() -> T:
        try:
            return await scene(model)
        finally:
            await model.close()

    return asyncio.run(run())


def starts(python: Path) -> list[list[str]]:
    """(process, arguments...) of each start."""
    return [line.split() for line in python.with_name("starts").read_text().splitlines()]


def alive(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(process: str, within_s: float = 10) -> bool:
    deadline = time.monotonic() + within_s
    while alive(process) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not alive(process)


def test_the_first_call_starts_the_server_and_closing_the_model_ends_it(python: Path) -> None:
    async def scene(model: ServerChat) -> None:
        await asyncio.gather(*(model.complete(CHAT, (), Sampling()) for _ in range(5)))

    using(open_model(settings(python, "--max-model-len=99")), scene)
    ((process, *arguments),) = starts(python)
    assert arguments[:3] == ["-m", "vllm.entrypoints.openai.api_server", "--host=127.0.0.1"]
    assert {
        "--model=test-model",
        "--served-model-name=test-model",
        "--enable-auto-tool-choice",
        "--max-model-len=99",
    } <= set(arguments)
    assert gone(process)


def test_a_server_that_dies_is_started_again_at_its_address(
    python: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(model: ServerChat) -> None:
        await model.complete(CHAT, (), Sampling())
        os.kill(int(starts(python)[0][0]), signal.SIGKILL)
        assert (await model.complete(CHAT, (), Sampling())).content is not None

    using(open_model(settings(python)), scene)
    (first, *before), (second, *after) = starts(python)
    assert first != second
    assert before == after
    assert gone(second)
    assert "vLLM has ended with code" in caplog.text


def test_a_server_that_cannot_be_had_again_ends_the_work_with_its_log(python: Path) -> None:
    async def scene(model: ServerChat) -> None:
        await model.complete(CHAT, (), Sampling())
        os.kill(int(starts(python)[0][0]), signal.SIGKILL)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            await model.complete(CHAT, (), Sampling())

    with pytest.raises(SynthError, match=r"vLLM does not start.*its log is /"):
        using(open_model(settings(python, "--doomed")), scene)


def test_a_server_that_keeps_dying_is_started_three_times_more_at_most(python: Path) -> None:
    async def scene(model: ServerChat) -> None:
        for _ in range(100):
            await model.complete(CHAT, (), Sampling())
            os.kill(int(starts(python)[-1][0]), signal.SIGKILL)
            await asyncio.sleep(0.3)

    with pytest.raises(SynthError, match=r"it has died 4 times; its log says why: /"):
        using(open_model(settings(python)), scene)
    assert len(starts(python)) == 4


def test_a_server_that_does_not_start_is_told_with_its_own_words_and_its_log(python: Path) -> None:
    with pytest.raises(ConfigError, match="ValueError: --broken is what it says") as failed:
        using(
            open_model(settings(python, "--broken")),
            lambda model: model.complete(CHAT, (), Sampling()),
        )
    log = re.search(r"its log is (\S+)", str(failed.value))
    assert log is not None
    assert "--broken is what it says" in Path(log[1]).read_text()


def test_an_environment_without_vllm_is_told() -> None:
    with pytest.raises(ConfigError, match="No module named"):
        using(
            open_model(settings(Path(sys.executable))),
            lambda model: model.complete(CHAT, (), Sampling()),
        )


def test_roles_with_the_same_weights_and_flags_share_a_server_until_the_last_closes_it(
    python: Path,
) -> None:
    async def scene() -> None:
        explorer, judge = (
            open_model(settings(python)),
            open_model(settings(python, temperature=0.5)),
        )
        other, student = open_model(settings(python, "--seed=1")), open_scoring(settings(python))
        for model in (explorer, judge, other):
            await model.complete(CHAT, (), Sampling())
        await student.score([*CHAT, {"role": "assistant", "content": "hi"}], ())
        assert len(starts(python)) == 2
        await explorer.close()
        await student.close()
        assert (await judge.complete(CHAT, (), Sampling())).content is not None
        await judge.close()
        await other.close()

    asyncio.run(scene())
    assert all(gone(process) for process, *_ in starts(python))


def test_the_server_dies_with_a_run_that_is_killed(python: Path) -> None:
    code = f"""
import asyncio
from synth.schemas.model import Sampling
from synth.models.settings import ModelSettings
from synth.models.servers.http_chat import open_vllm_local as open_model

async def run():
    settings = ModelSettings(engine="vllm_local", model="test-model", python={str(python)!r})
    model = open_model(settings)
    await model.complete({CHAT!r}, (), Sampling())
    print("answered", flush=True)
    await asyncio.sleep(600)

asyncio.run(run())
"""
    run = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "answered\n"
    ((server, *_),) = starts(python)
    assert alive(server)
    run.kill()
    run.wait()
    assert gone(server)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"python": None}, "python: .* interpreter .*: run `synth vllm install` once"),
        ({"python": "/nowhere/python"}, "/nowhere/python is no interpreter"),
        ({"base_url": "http://127.0.0.1:1/v1"}, "starts its own server"),
        ({"server_args": ("--port=1",)}, "server_args: --port is set by synth itself"),
    ],
)
def test_what_cannot_start_a_server_is_the_users_to_mend(
    python: Path, more: dict[str, Any], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # where no vLLM was installed
    with pytest.raises(ConfigError, match=why):
        open_model(
            ModelSettings(**({"engine": "vllm_local", "model": "m", "python": str(python)} | more))
        )


@pytest.mark.parametrize("engine", ["openai", "vllm", "transformers"])
def test_engines_that_start_no_server_take_no_flags_for_one(engine: str) -> None:
    with pytest.raises(
        ConfigError,
        match=rf"server_args: engine {engine} starts no server; choose `engine: vllm_local`",
    ):
        ModelSettings(engine=engine, model="m", server_args=("--max-model-len=9",))
