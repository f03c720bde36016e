"""A small pool for all tests of this folder that need one."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.world import bound
from synth.envs.world import EnvEntry
from tests.envs.repo.small_pool import make_small_pool


@pytest.fixture(scope="session")
def pool_folder() -> Iterator[Path]:
    """A folder with the pool; it lies where any user may read it."""
    with tempfile.TemporaryDirectory(prefix="synth-pool-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        make_small_pool(folder / "pool", folder / "shelf")
        yield folder / "pool"


@pytest.fixture
def repo_world(pool_folder: Path) -> Callable[..., EnvEntry]:
    """The world over the pool, with what its user says beside it."""
    return lambda **said: bound(RepoSettings(pool=str(pool_folder), **said))
