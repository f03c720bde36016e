"""The echo flow, slow enough to be killed in its middle, as a deployment of a `PrefectSite`; and
what its ledger holds.
"""

from pathlib import Path
from typing import Any

import yaml

from synth.ledger import StoredLedger
from tests.flow_files import echo_flow
from tests.flows.prefect_processes import PrefectSite, wait_for
from tests.synth.canonical_content import canonical_content

TASKS, TRIALS = 12, 4
SLOW = {"name": "echo", "tasks": TASKS, "turns": 10, "step_ms": 40}
STAGES: list[Any] = [{"rollout": {"trials": TRIALS, "shard": 6, "live": 6}}, {"filter": ["solved"]}]


def contents(url: str) -> dict[str, Any]:
    """Content by slot of what the current flow sees; work that was done twice fails."""
    ledger = StoredLedger(url)
    found = {
        trajectory.slot_id: canonical_content(trajectory) for trajectory in ledger.trajectories()
    }
    assert {slot.attempts for slot in ledger.state.slots.values()} <= {1}, "a slot was filled twice"
    return found


def deploy(
    site: PrefectSite,
    folder: Path,
    name: str,
    *options: str,
    env: dict[str, Any] | None = None,
    stages: Any = None,
) -> str:
    """A deployment of the echo flow into `folder`/run; its id."""
    flow = echo_flow(name=name, env=env or SLOW, stages=stages or STAGES).model_dump(mode="json")
    flow["stages"] = stages or STAGES
    path = folder / "flow.yaml"
    path.write_text(yaml.safe_dump(flow))
    done = site.synth("deploy", str(path), "--run-dir", str(folder / "run"), *options)
    assert done.returncode == 0, done.stderr
    assert f"synth/{name}: registered at {site.url}" in done.stdout
    return site.deployment(name)


def committed(url: Path) -> int:
    """Trajectories that a line of the manifest names."""
    return len(contents(str(url))) if (url / "manifest" / "00000000").exists() else 0


def ended(site: PrefectSite, flow_run: str) -> str:
    return wait_for(
        f"{flow_run} ends",
        lambda: (state := site.state(flow_run)) in ("COMPLETED", "FAILED", "CRASHED") and state,
    )
