"""State of tests lies in temporary folders, never in the user's home; property tests draw the same
examples at each run.
"""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, database=None, deadline=None)
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("SYNTH_EXAMPLES", "same"))


@pytest.fixture(autouse=True)
def _state_folder(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("SYNTH_STATE_DIR", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "configuration"))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    return folder
