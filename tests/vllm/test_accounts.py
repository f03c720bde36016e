"""What cost.json counts is what vLLM has counted."""

import json
from pathlib import Path

import pytest

from tests.vllm.server import VLLMServer
from tests.vllm.test_smoke import flow_file, synth

pytestmark = pytest.mark.vllm
COUNTERS = {
    "model_calls": "vllm:request_success_total",
    "prompt_tokens": "vllm:prompt_tokens_total",
    "cached_tokens": "vllm:prefix_cache_hits_total",
    "completion_tokens": "vllm:generation_tokens_total",
}


def test_calls_and_tokens_are_those_of_the_servers_own_metrics(
    server: VLLMServer, tmp_path: Path
) -> None:
    before = {name: server.metric(counter) for name, counter in COUNTERS.items()}
    process = synth(flow_file(tmp_path, server, trials=2), tmp_path / "run")
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    total = json.loads((tmp_path / "run/cost.json").read_text())["total"]
    assert total["model_calls"] > 0
    assert {name: total[name] for name in COUNTERS} == {
        name: server.metric(counter) - before[name] for name, counter in COUNTERS.items()
    }
    assert total["cost_usd"] is None, "the flow names no price"
