"""Two workers of one run, on machines of their own; a bucket on an S3 server."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.s3_server import make_bucket, serving
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


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, dict[str, str]]]:
    with serving() as found:
        yield found


@pytest.fixture
def server(served: tuple[str, dict[str, str]]) -> str:
    return served[0]


@pytest.fixture
def bucket(
    served: tuple[str, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> str:
    url, variables = served
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    name = re.sub("[^a-z]", "-", request.node.name)[5:60].strip("-")
    make_bucket(url, name)
    return f"s3://{name}/run"
