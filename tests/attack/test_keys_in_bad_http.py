"""A server sends the model's key back in HTTP that is none: what the client says of it holds no
key.
"""

import asyncio
import base64
import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml

from synth.models.servers.http_chat import open_openai, open_vllm
from synth.models.settings import ModelSettings
from synth.schemas.model import ModelError, Sampling
from tests.attack.echoing_server import EchoingServer
from tests.attack.hostile_server import head, whole
from tests.attack.key_echoes import texts, told

KEY = "zq8Wm3Kx7R/t2Lp9VbN4"
OPENERS = {"openai": open_openai, "vllm": open_vllm}
ECHOES: dict[str, Callable[[bytes], bytes]] = {
    "a space after a header's name": lambda key: (
        b"HTTP/1.1 200 OK\r\nAuthorization : Bearer " + key + b"\r\nContent-Length: 2\r\n\r\n{}"
    ),
    "no status line": lambda key: b"HTP " + key + b"\r\n\r\n",
    "a status that is no number": lambda key: b"HTTP/1.1 " + key + b" OK\r\n\r\n",
    "a header with a null": lambda key: b"HTTP/1.1 200 OK\r\nX-Echo: " + key + b"\x00\r\n\r\n",
    "a chunk's size": lambda key: head(Transfer_Encoding="chunked") + key + b"\r\n",
    "a length": lambda key: head(Content_Length=key.decode()),
    "a reason": lambda key: whole(b"", f"500 {key.decode()}"),
    "a cookie's name": lambda key: whole(b"", "500 Oh", Set_Cookie=f"a {key.decode()}=1"),
    "a cut key": lambda key: b"HTP " + key[:-6] + b"\r\n\r\n",
    "base64": lambda key: b"HTP " + base64.b64encode(b"user:" + key) + b"\r\n\r\n",
    "a url": lambda key: b"HTP /?key=" + quote(key.decode(), safe="").encode() + b"\r\n\r\n",
}


@pytest.fixture
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)


async def failure(engine: str, url: str) -> ModelError:
    settings = ModelSettings(
        engine=engine, base_url=url, model="m", api_key_env="MY_KEY", max_retries=0, timeout_s=5
    )
    model = OPENERS[engine](settings)
    with pytest.raises(ModelError) as caught:
        await model.complete([{"role": "user", "content": "hello"}], (), Sampling())
    await model.close()
    return caught.value


@pytest.mark.usefixtures("_key")
@pytest.mark.parametrize(
    ("engine", "at"), [("openai", "/chat"), ("vllm", "/chat"), ("vllm", "/models")]
)
@pytest.mark.parametrize("echo", ECHOES)
def test_no_error_holds_the_key_that_a_server_sent_back_in_bad_http(
    echo: str, engine: str, at: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with EchoingServer(ECHOES[echo], at) as server:
        error = asyncio.run(failure(engine, server.url))
    assert server.heard
    assert not told("".join(traceback.format_exception(error)), KEY)
    assert not told(caplog.text, KEY)


def synth(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "synth.cli.main", *words]
    environment = {
        **os.environ,
        "SYNTH_STATE_DIR": str(place / "state"),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "MY_KEY": KEY,
    }
    return subprocess.run(
        command,
        cwd=place,
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("engine", OPENERS)
def test_a_run_and_the_doctor_hold_no_key_that_a_server_sent_back_in_bad_http(
    engine: str, tmp_path: Path
) -> None:
    with EchoingServer(ECHOES["a space after a header's name"]) as server:
        model = {
            "engine": engine,
            "model": "m",
            "base_url": server.url,
            "api_key_env": "MY_KEY",
            "max_retries": 0,
        }
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
    assert all("[key]" in left[name] for name in ("run", "doctor")), left["run"] + left["doctor"]
    assert {name for name, text in left.items() if told(text, KEY, 1)} == set()
