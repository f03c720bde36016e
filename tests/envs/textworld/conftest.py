"""Games are made once for all tests of this folder: a compiler runs for each."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def _games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("games")


@pytest.fixture(autouse=True)
def _kept_games(_state_folder: Path, _games: Path) -> None:
    _state_folder.mkdir(parents=True)
    (_state_folder / "textworld").symlink_to(_games)
