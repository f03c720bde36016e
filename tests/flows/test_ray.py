"""Shards of episodes on a real Ray cluster of two nodes that share only the run directory, or only
a bucket.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from synth.ledger import StoredLedger
from synth.ledger.log.lost_shards import lost_lines
from synth.schemas.flow import Flow
from tests.flow_files import SYNTH, echo_flow, run_flow
from tests.synth.canonical_content import canonical_content

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
STAGES = [{"rollout": {"trials": 4, "shard": 10}}, {"filter": ["solved"]}]
ENV: dict[str, Any] = {"name": "echo", "tasks": 20, "turns": 4, "step_ms": 20}
alone = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="a network of loopback only is made by bubblewrap"
)


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_where_ray_is_not_installed_that_is_said_in_one_line(tmp_path: Path) -> None:
    flow_file = tmp_path / "flow.yaml"
    flow_file.write_text(echo_flow().model_dump_json())
    command = [*SYNTH, "run", str(flow_file), "--run-dir", str(tmp_path / "run"), "--runner", "ray"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(
        "--runner ray: Ray is not installed; pip install -c constraints.txt -e '.[ray]'"
    )
    assert not (tmp_path / "run").exists()


def on_cluster(flow: Flow, url: str, folder: Path, *options: str) -> str:
    """Runs a flow on two nodes; what it said."""
    pytest.importorskip("ray")
    flow_file = folder / "flow.yaml"
    flow_file.write_text(flow.model_dump_json())
    command = [*SYNTH, "run", str(flow_file), "--run-dir", url, "--runner", "ray"]
    apart = [
        "bwrap",
        "--dev-bind",
        "/",
        "/",
        "--unshare-net",
        "--unshare-pid",
        "--die-with-parent",
        "--proc",
        "/proc",
    ]
    environment = {
        "PYTHONPATH": str(ROOT),
        "RAY_TMPDIR": "/tmp/ray-test",
    }
    done = subprocess.run(
        [*apart, sys.executable, "-m", "tests.flows.ray_cluster", str(folder), *options, *command],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def has_the_rows_of_one_process(flow: Flow, url: str, folder: Path, episodes: int = 80) -> None:
    run_flow(flow, str(folder / "direct"))
    ray, direct = (
        {t.trajectory_id: canonical_content(t) for t in StoredLedger(at).trajectories()}
        for at in (url, str(folder / "direct"))
    )
    assert ray == direct
    assert len(ray) == episodes
    state = StoredLedger(url).state
    assert sum(len(shard.slots) for shard in state.shards) == episodes, "no slot was filled twice"
    assert lost_lines(state) == []


@alone
@pytest.mark.nightly
def test_two_nodes_that_share_a_directory_give_the_ledger_of_one_process(tmp_path: Path) -> None:
    many = [{"rollout": {"trials": 60, "shard": 10}}, STAGES[1]]  # more units than two tasks do
    flow = echo_flow(env=ENV, stages=many)
    on_cluster(flow, str(tmp_path / "run"), tmp_path)
    has_the_rows_of_one_process(flow, str(tmp_path / "run"), tmp_path, 1200)
    places = {
        path.read_text()
        for number in range(2)
        for path in (tmp_path / f"node{number}").glob("journal/*/place")
    }
    assert len(places) == 2, "both nodes were at work"
    records = list((tmp_path / "run" / "workers").glob("*.json"))
    assert len(records) > 3, "tasks that had done their units were followed by others"


@alone
def test_two_nodes_that_share_only_a_bucket_of_which_one_is_killed_give_the_ledger_of_one_process(
    tmp_path: Path,
) -> None:
    pytest.importorskip("moto")
    stages = [{"rollout": {"trials": 4, "shard": 20, "live": 2}}, {"filter": ["solved"]}]
    flow = echo_flow(env=ENV | {"step_ms": 50}, stages=stages, lease_s=4)
    on_cluster(flow, "s3://ray/run", tmp_path, "--s3", "--kill")
    assert (tmp_path / "node1" / "killed").exists()
    has_the_rows_of_one_process(flow, str(tmp_path / "bucket" / "run"), tmp_path)
    assert len(StoredLedger(str(tmp_path / "bucket" / "run")).state.fences) == 1, (
        "the killed node was declared dead, and nobody else"
    )
