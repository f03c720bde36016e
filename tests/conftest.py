"""State of tests lies in temporary folders, never in the user's home; property tests draw the same
examples at each run.
"""

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import settings

settings.register_profile("same", derandomize=True, database=None, deadline=None)
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("SYNTH_EXAMPLES", "same"))
NUMBERS = count()
"""Of state folders: `mktemp` would look through all those before to number the next one."""


@pytest.fixture(autouse=True)
def _state_folder(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    folder = tmp_path_factory.getbasetemp() / "states" / str(next(NUMBERS))
    monkeypatch.setenv("SYNTH_STATE_DIR", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "configuration"))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    return folder


@pytest.fixture(autouse=True, scope="module")
def _memory() -> Iterator[None]:
    """Files in memory go with the tests that wrote them: each look at one passes all the others."""
    yield
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
