"""Two workers of one run, on machines of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.synth.claims.machines import Worker


@pytest.fixture
def url(tmp_path: Path) -> str:
    return str(tmp_path / "run")


@pytest.fixture
def two(url: str, tmp_path: Path) -> Iterator[tuple[Worker, Worker]]:
    """Machines whose clocks are a day apart; the state folder of a machine is a variable that every
    test has put back for it.
    """
    workers = Worker(url, tmp_path / "a"), Worker(url, tmp_path / "b", clock_s=86_400.0)
    yield workers
    for worker in workers:
        worker.leases.close()
