"""One vLLM server for all tests of this folder; without its environment they are skipped."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vllm.server import VLLMServer

RANDOM_MODEL = Path(__file__).parents[1] / "random_model.py"


@pytest.fixture(scope="session")
def vllm_python() -> Path:
    """The interpreter that `make vllm-smoke` names in SYNTH_VLLM_PYTHON."""
    named = os.environ.get("SYNTH_VLLM_PYTHON")
    if not named:
        pytest.skip(
            "vLLM is tested by `make vllm-smoke`, which installs it into an environment of its own"
        )
    return Path(named)


@pytest.fixture(scope="session")
def model(vllm_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a chat model of random weights."""
    folder = tmp_path_factory.mktemp("model")
    subprocess.run(
        [vllm_python, RANDOM_MODEL, folder], check=True, env=os.environ | {"HF_HUB_OFFLINE": "1"}
    )
    return folder


@pytest.fixture(scope="session")
def server(
    vllm_python: Path, model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[VLLMServer]:
    """Started once; a test that kills it starts it again."""
    running = VLLMServer(vllm_python, model, tmp_path_factory.mktemp("vllm") / "server.log")
    running.start()
    yield running
    running.kill()
