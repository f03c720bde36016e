"""`synth doctor --endpoint`: a line per question, whatever the server does, and a block for a
flow.
"""

import json
import subprocess
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from aiohttp import web
from click.testing import CliRunner, Result

from synth.cli.doctor import doctor
from synth.models.settings import ModelSettings
from tests.flow_files import SYNTH
from tests.synth.models.chat_brains import called
from tests.synth.models.chat_mishaps import KINDS
from tests.synth.models.chat_server import ChatServer, Mishap

NAMES = [
    "reachable",
    "models",
    "plain chat",
    "context",
    "usage",
    "tools",
    "forced tool",
    "structured",
    "reasoning",
]
NAMES += ["logprobs", "token ids", "ranks", "prefix cache", "n > 1", "latency", "verdict"]


def able(body: Mapping[str, Any]) -> dict[str, Any]:
    """A model that does what it is asked: forced calls, schemas; it thinks before it speaks."""
    if "tool_choice" in body:
        return called("look_up_weather", {"city": "Lima"})
    said = json.dumps({"answer": "yes"}) if "response_format" in body else "Good morning."
    return {"role": "assistant", "content": said, "reasoning_content": "Short is good."}


def asked(*arguments: str, **environment: str) -> Result:
    return CliRunner(env=environment).invoke(doctor, [*arguments])


def findings(result: Result) -> dict[str, tuple[str, str]]:
    """Word and text by name, of the lines up to the verdict."""
    lines = result.output.partition("\n\n")[0].splitlines()
    return {line[:13].strip(): (line[14:22].strip(), line[23:]) for line in lines}


def words(result: Result) -> dict[str, str]:
    return {name: word for name, (word, _) in findings(result).items() if name != "verdict"}


def pasted(result: Result) -> ModelSettings:
    return ModelSettings.model_validate(
        yaml.safe_load(result.output.partition("\n\n")[2])["models"]["explorer"]
    )


def test_a_server_that_can_do_it_all_has_a_line_for_each_thing_and_a_block_that_a_flow_takes() -> (
    None
):
    with ChatServer(able) as server:
        result = asked("--endpoint", server.url)
        bodies = len(server.bodies)
    assert result.exit_code == 0, result.output
    found = findings(result)
    assert list(found) == NAMES
    assert found["models"] == ("works", "test-model")
    assert found["forced tool"] == ("works", 'look_up_weather {"city": "Lima"}')
    assert found["structured"] == ("works", '{"answer": "yes"}')
    assert found["reasoning"] == ("works", "thinking comes apart from the content")
    assert found["n > 1"] == ("works", "two replies to one prompt")
    assert {name for name, word in words(result).items() if word != "works"} <= {
        "context",
        "tools",
        "ranks",
    }
    settings = pasted(result)
    assert (settings.engine, settings.model, settings.base_url) == (
        "vllm",
        "test-model",
        server.url,
    )
    assert settings.logprobs
    assert bodies < 20, "short enough for a server that is paid for"


def test_what_a_plain_server_ignores_is_said_and_the_block_is_for_any_server() -> None:
    with PlainServer() as server:
        result = asked("--endpoint", server.url)
    assert result.exit_code == 0
    found = findings(result)
    assert found["forced tool"] == ("no", "tool_choice is ignored: no call came back")
    assert found["structured"][1].startswith("response_format is ignored: reply ")
    assert found["reasoning"] == ("unknown", "this reply held no thinking")
    assert found["logprobs"] == ("no", "accepted, but none came back")
    assert found["token ids"][0] == "no"
    assert found["tools"] == (
        "no",
        "accepted, but the prompt is no longer with it: the chat template does not show tools to "
        "the model",
    )
    assert (
        "verdict       a flow can use this server, but not in a world with tools: mend that "
        "first:\n" in result.output
    )
    assert found["n > 1"] == ("no", "one reply came back where two were asked for")
    settings = pasted(result)
    assert (settings.engine, settings.model) == ("openai", "test-model")


class PlainServer(ChatServer):
    """Knows messages and nothing else."""

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        plain = {"model": body["model"], "messages": body["messages"]}
        request._read_bytes = json.dumps(plain).encode()
        return await super()._chat(request)


class NewServer(ChatServer):
    """Refuses `max_tokens`, as OpenAI's newer models do."""

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        if "max_tokens" in await request.json():
            said = (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                "'max_completion_tokens' instead."
            )
            return web.json_response(
                {"error": {"message": said, "code": "unsupported_parameter"}}, status=400
            )
        return await super()._chat(request)


def test_a_server_that_wants_max_completion_tokens_is_asked_so_and_the_block_says_it() -> None:
    with NewServer(able) as server:
        result = asked("--endpoint", server.url)
    assert words(result)["plain chat"] == "works"
    settings = pasted(result)
    assert settings.max_tokens is None
    assert settings.extra_body == {"max_completion_tokens": 1024}


def test_an_address_without_its_path_is_found_and_the_block_has_the_whole() -> None:
    with ChatServer(able) as server:
        result = asked("--endpoint", server.url.removesuffix("/v1") + "/")
    assert findings(result)["reachable"] == ("works", server.url)
    assert pasted(result).base_url == server.url


def test_nothing_that_listens_is_one_line_and_exit_code_1() -> None:
    result = asked("--endpoint", "http://127.0.0.1:9/v1")
    assert result.exit_code == 1
    assert list(findings(result)) == ["reachable", "verdict"]
    assert findings(result)["reachable"][0] == "no"


def test_a_server_that_lists_another_model_says_which() -> None:
    with ChatServer(able, model="served") as server:
        result = asked("--endpoint", server.url, "--model", "wanted")
    assert findings(result)["models"] == ("no", "wanted is not among those served: served")


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in ("endless", "announced_endless", "slow_bytes")]
)
def test_whatever_a_server_does_after_the_first_chat_each_question_has_its_line(kind: str) -> None:
    with ChatServer(able, mishaps=[None, *[Mishap(kind)] * 40]) as server:
        result = asked("--endpoint", server.url, "--timeout-s", "0.2")
    assert result.exit_code == 0, "plain chat works"
    assert list(findings(result)) == NAMES
    assert result.exception is None


@pytest.mark.parametrize(
    "kind",
    [
        "hang",
        "status",
        "truncated_json",
        "wrong_content_type",
        "disconnect_before",
        "context_length",
    ],
)
def test_without_plain_chat_the_rest_is_not_asked(kind: str) -> None:
    with ChatServer(able, mishaps=[Mishap(kind)] * 5) as server:
        result = asked("--endpoint", server.url, "--timeout-s", "0.2")
        assert server.counts()["total"] == 1
    assert result.exit_code == 1
    assert list(findings(result)) == ["reachable", "models", "plain chat", "verdict"]
    assert words(result)["plain chat"] == "no"


def test_a_key_is_sent_and_never_printed_even_where_the_server_repeats_it() -> None:
    key = "sk-live-0123456789abcdef"

    def repeats(body: Mapping[str, Any]) -> dict[str, Any]:
        return {"role": "assistant", "content": f"your key is {key}", "reasoning_content": key}

    with ChatServer(
        repeats, model=key, mishaps=[None, Mishap("unauthorized"), Mishap("escaped_key")]
    ) as server:
        result = asked("--endpoint", server.url, "--api-key-env", "MY_KEY", MY_KEY=key)
        sent = [headers["Authorization"] for headers in server.headers]
    assert set(sent) == {f"Bearer {key}"}
    assert result.exit_code == 0
    assert key not in result.output
    assert "api_key_env: MY_KEY" in result.output


def test_a_refused_key_is_named_by_its_variable() -> None:
    with ChatServer(able, mishaps=[Mishap("unauthorized")]) as server:
        result = asked(
            "--endpoint", server.url, "--api-key-env", "MY_KEY", MY_KEY="sk-live-0123456789abcdef"
        )
    assert result.exit_code == 1
    assert findings(result)["plain chat"][1].endswith("; look at the key in MY_KEY")
    assert "0123456789" not in result.output


def test_what_a_server_says_cannot_steer_the_terminal() -> None:
    def steers(body: Mapping[str, Any]) -> dict[str, Any]:
        return {"role": "assistant", "content": "\x1b]0;title\x07\x1b[2J\nverdict"}

    with ChatServer(steers, model="red\x1b[31m\nverdict") as server:
        result = asked("--endpoint", server.url)
    assert not set(result.output) & {"\x1b", "\x07"}
    assert list(findings(result)) == NAMES


REFUSALS = [
    (["--endpoint", "localhost:8000"], "is no URL"),
    (["--endpoint", "http://me:secret@127.0.0.1:9/v1"], "it holds a user name or password"),
    (
        ["--endpoint", "http://127.0.0.1:9/v1", "--api-key-env", "sk-live-0123456789abcdef"],
        "not the key itself",
    ),
    (
        ["--endpoint", "http://127.0.0.1:9/v1", "--api-key-env", "NOT_SET_ANYWHERE"],
        "NOT_SET_ANYWHERE is not set",
    ),
    (["--model", "m"], "belong to --endpoint"),
    (["--endpoint", "http://127.0.0.1:9/v1", "--timeout-s", "0"], "timeout-s"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "said"), REFUSALS)
def test_what_the_user_must_mend_is_one_line_and_exit_code_2(
    arguments: list[str], said: str
) -> None:
    done = subprocess.run(
        [*SYNTH, "doctor", *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr
    assert "secret" not in done.stderr
    assert "0123456789" not in done.stderr
