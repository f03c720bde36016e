"""Progress of a filter stage counts each trajectory once, however many filters look at it together
with others.
"""

from pathlib import Path
from typing import Any

import pytest

from synth.claims.workers import heartbeats
from synth.ledger.storage import Storage
from tests.flow_files import echo_flow, run_flow

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "filters", [["solved"], ["solved", "duplicates"], ["duplicates", "secrets", "reexecuted"]]
)
def test_a_trajectory_is_one_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filters: list[Any]
) -> None:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    _, _, said = run_flow(
        echo_flow(stages=[{"rollout": {"trials": 5}}, {"filter": filters}]), str(tmp_path / "run")
    )
    (beat,) = heartbeats(Storage(str(tmp_path / "run")))
    assert (beat.stage, beat.done, beat.total, beat.stages_done) == ("filter", 20, 20, 3)
    assert "filter: 20 trajectories in " in said
