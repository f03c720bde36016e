"""What the tests of ledgers share."""

import uuid
from pathlib import Path

import pytest


@pytest.fixture(params=["local", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a run is to lie: on a disk, and in an object store."""
    return str(tmp_path / "run") if request.param == "local" else f"memory://{uuid.uuid4().hex}/run"
