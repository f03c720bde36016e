"""Shards of episodes on a real Ray cluster of two nodes that share only the run directory."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from synth.ledger import Ledger
from synth.rollout.episode import canonical_content
from tests.flow_files import SYNTH, echo_flow, run_flow

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
STAGES = [{"rollout": {"trials": 4, "shard": 10}}, {"filter": ["solved"]}]
ENV = {"name": "echo", "tasks": 20, "turns": 4, "step_ms": 20}


def test_ray_without_an_engine_is_refused_in_one_line(tmp_path: Path) -> None:
    flow_file = tmp_path / "flow.yaml"
    flow_file.write_text(echo_flow().model_dump_json())
    command = [*SYNTH, "run", str(flow_file), "--run-dir", str(tmp_path / "run"), "--runner", "ray"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(
        "--runner ray: it is Prefect that hands shards to Ray; add --prefect, or set PREFECT_API_URL"
    )


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="a network of loopback only is made by bubblewrap")
def test_two_nodes_that_share_a_directory_give_the_ledger_of_one_process(tmp_path: Path) -> None:
    pytest.importorskip("prefect_ray")
    flow_file = tmp_path / "flow.yaml"
    flow = echo_flow(env=ENV, stages=STAGES)
    flow_file.write_text(flow.model_dump_json())
    url = str(tmp_path / "run")
    command = [*SYNTH, "run", str(flow_file), "--run-dir", url, "--prefect", "--runner", "ray"]
    alone = ["bwrap", "--dev-bind", "/", "/", "--unshare-net", "--unshare-pid", "--die-with-parent", "--proc", "/proc"]
    environment = {"PYTHONPATH": str(ROOT), "PREFECT_HOME": str(tmp_path / "prefect"), "RAY_TMPDIR": "/tmp/ray-test"}
    done = subprocess.run(
        [*alone, sys.executable, "-m", "tests.flows.ray_cluster", str(tmp_path), *command],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    run_flow(flow, str(tmp_path / "direct"))
    ray, direct = ({t.trajectory_id: canonical_content(t) for t in Ledger(at).trajectories()} for at in (url, str(tmp_path / "direct")))
    assert ray == direct
    assert len(ray) == 80
    state = Ledger(url).state
    assert sum(len(shard.slots) for shard in state.shards) == 80, "no slot was filled twice"
    places = {path.read_text() for number in range(2) for path in (tmp_path / f"node{number}").glob("journal/*/place")}
    assert len(places) == 2, "both nodes had shards"
