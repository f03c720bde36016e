"""State of tests lies in temporary folders, never in the user's home."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _state_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("SYNTH_STATE_DIR", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "configuration"))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    return folder
