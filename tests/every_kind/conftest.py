"""Both runs, once for all tests of the folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.every_kind import runs
from tests.synth.cli.conftest import environment, hub

__all__ = ["environment", "hub"]


@pytest.fixture(scope="session", autouse=True)
def _state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYNTH_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def quickstart(_state: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return runs.quickstart(tmp_path_factory.mktemp("quickstart") / "run")


@pytest.fixture(scope="session")
def tau(_state: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not runs.DATA.is_dir():
        pytest.skip("real trajectories absent: ../shared/data")
    return runs.tau(tmp_path_factory.mktemp("tau") / "run")
