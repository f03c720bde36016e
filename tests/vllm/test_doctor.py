"""`synth doctor --endpoint` against vLLM itself: everything that our engine asks for is found, and
the block that it prints is a flow's.
"""

import pytest
import yaml
from click.testing import CliRunner

from synth.cli.doctor import doctor
from synth.models.settings import ModelSettings
from tests.vllm.server import MODEL_NAME, VLLMServer

pytestmark = pytest.mark.vllm
ASKED = [
    "plain chat",
    "context",
    "usage",
    "tools",
    "forced tool",
    "structured",
    "logprobs",
    "token ids",
    "ranks",
    "prefix cache",
    "n > 1",
]


def test_what_the_server_was_started_for_works(server: VLLMServer) -> None:
    result = CliRunner().invoke(
        doctor, ["--endpoint", server.url.removesuffix("/v1"), "--timeout-s", "120"]
    )
    assert result.exit_code == 0, result.output
    lines, _, block = result.output.partition("\n\n")
    words = {line[:13].strip(): line[14:22].strip() for line in lines.splitlines()}
    assert {name: words[name] for name in ASKED} == dict.fromkeys(ASKED, "works"), result.output
    assert "context       works    16,384 tokens for prompt and reply" in lines
    settings = ModelSettings.model_validate(yaml.safe_load(block)["models"]["explorer"])
    assert (settings.engine, settings.model, settings.base_url, settings.logprobs) == (
        "vllm",
        MODEL_NAME,
        server.url,
        True,
    )


def test_a_model_that_is_not_served_is_refused_in_the_servers_words(server: VLLMServer) -> None:
    result = CliRunner().invoke(doctor, ["--endpoint", server.url, "--model", "nobody"])
    assert result.exit_code == 1
    assert f"models        no       nobody is not among those served: {MODEL_NAME}" in result.output
    assert "plain chat    no       HTTP 404: " in result.output
