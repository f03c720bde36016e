"""Making games costs CPU that is counted once, and a snapshot has a size."""

import asyncio
from pathlib import Path

import pytest

pytest.importorskip(
    "synth.envs.textworld",
    reason="the extra is missing: pip install -c constraints.txt -e '.[textworld]'",
    exc_type=ImportError,
)

from benchmarks.textworld_games import making, snapshot_bytes


@pytest.mark.slow
def test_a_game_that_is_there_costs_nothing_to_make_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path))
    assert making({}, 1) > 0
    assert making({}, 1) == 0
    assert asyncio.run(snapshot_bytes()) > 100
