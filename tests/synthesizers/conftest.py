"""What the tests of synthesizers share."""

from pathlib import Path

import pytest


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Journals and claims of this machine lie in a folder of the test's own."""
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
