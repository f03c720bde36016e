import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import msgspec

from tests.synth.models.chat_brains import messages_hash
from tests.synth.models.chat_server import ChatServer, Mishap

ROOT = Path(__file__).parents[3]


def fetch_counts(url: str) -> dict[str, Any]:
    """What a server in another process has counted; `url` is the base URL that it printed."""
    with urlopen(f"{url.removesuffix('/v1')}/counts", timeout=10) as reply:
        return dict(json.load(reply))


def post(url: str, body: object) -> dict:
    with urlopen(Request(url, msgspec.json.encode(body)), timeout=10) as reply:
        return json.load(reply)


def test_as_a_process_it_prints_its_url_plays_echo_and_counts_by_messages() -> None:
    command = [
        sys.executable,
        "-m",
        "tests.synth.models.chat_server",
        "--port",
        "0",
        "--brain",
        "echo",
        "--turns",
        "1",
        "--latency-ms",
        "1",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        question = {"model": "m", "messages": [{"role": "user", "content": "amber"}]}
        call = post(f"{url}/chat/completions", question)["choices"][0]["message"]
        after = {
            **question,
            "messages": [
                *question["messages"],
                call,
                {"role": "tool", "tool_call_id": "call_0", "content": "amber"},
            ],
        }
        said = post(f"{url}/chat/completions", after)["choices"][0]
        post(f"{url}/chat/completions", question)
        counts = fetch_counts(url)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert json.loads(call["tool_calls"][0]["function"]["arguments"]) == {"text": "amber"}
    assert (said["message"]["content"], said["finish_reason"]) == ("done", "stop")
    assert counts["by_hash"] == {messages_hash(question): 2, messages_hash(after): 1}
    assert (counts["total"], counts["answered"], counts["in_flight"]) == (3, 3, 0)


def test_mishaps_can_be_planned_while_it_runs_and_models_are_listed() -> None:
    with ChatServer(model="tiny") as server:
        root = server.url.removesuffix("/v1")
        assert post(f"{root}/mishaps", [Mishap("empty_choices"), None]) == {"planned": 2}
        body = {"model": "tiny", "messages": []}
        assert post(f"{server.url}/chat/completions", body)["choices"] == []
        assert len(post(f"{server.url}/chat/completions", body)["choices"]) == 1
        with urlopen(f"{server.url}/models", timeout=10) as reply:
            assert json.load(reply)["data"][0]["id"] == "tiny"
