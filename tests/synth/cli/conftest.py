"""What the tests of commands share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flow_files import echo_flow, run_flow
from tests.synth.hub.hub_server import TOKEN, Hub


@pytest.fixture
def hub() -> Iterator[Hub]:
    found = Hub()
    yield found
    found.close()


@pytest.fixture
def environment(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Of a user whose Hub is the local one."""
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    return {
        "HF_ENDPOINT": hub.url,
        "HF_HUB_DISABLE_XET": "1",
        "HF_HOME": str(tmp_path / "hf"),
        "HF_TOKEN": TOKEN,
        "SYNTH_STATE_DIR": str(tmp_path / "state"),
    }


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run of the echo flow."""
    run_flow(echo_flow(), str(tmp_path / "run"))
    return tmp_path / "run"
