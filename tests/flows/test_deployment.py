"""Deployments on a real Prefect server with a real worker, on loopback: firings, kills, outages,
parts, notices.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from synth.claims.workers import Heartbeat, heartbeats
from synth.ledger import StoredLedger
from synth.ledger.storage import Storage
from tests.flow_files import echo_flow, run_flow
from tests.flows.deployed_echo import (
    SLOW,
    STAGES,
    TASKS,
    TRIALS,
    committed,
    contents,
    deploy,
    ended,
)
from tests.flows.prefect_processes import ROOT, PrefectSite, wait_for

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectSite]:
    """One server for all; every test starts its own worker."""
    made = PrefectSite(tmp_path_factory.mktemp("site"))
    made.start()
    yield made
    made.end()


@pytest.fixture(autouse=True)
def _nothing_left_at_work(site: PrefectSite) -> Iterator[None]:
    """No worker, and no schedule that goes on firing."""
    yield
    site.kill_workers()
    site.forget_deployments()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the same flow gives where nothing goes wrong."""
    url = str(tmp_path_factory.mktemp("undisturbed") / "run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYNTH_STATE_DIR", str(Path(url).parent / "state"))
        run_flow(echo_flow(env=SLOW, stages=STAGES), url)
    return contents(url)


@pytest.mark.nightly
def test_a_schedule_fires_and_says_where_everything_lies(site: PrefectSite, tmp_path: Path) -> None:
    quick = {"name": "echo", "tasks": 4, "turns": 3}
    deploy(
        site,
        tmp_path,
        "every-ten-seconds",
        "--interval",
        "10",
        "--run-dir",
        str(tmp_path / "{name}" / "{time}"),
        env=quick,
    )
    site.worker()
    runs = wait_for(
        "two firings are over", lambda: len(found := site.flow_runs("COMPLETED")) >= 2 and found
    )
    assert all("part" not in run["parameters"] for run in runs)
    ledgers = sorted((tmp_path / "every-ten-seconds").iterdir())
    assert len(ledgers) >= 2, "each firing has a folder of its own"
    assert len(contents(str(ledgers[0]))) == 4 * TRIALS
    artifacts = {artifact["key"]: artifact["data"] for artifact in site.ask("artifacts/filter")}
    assert "| rollout | 16 | 16 | attempts |" in artifacts["funnel"]
    assert any(f"- ledger: {ledger.as_uri()}" in artifacts["links"] for ledger in ledgers)
    found = json.loads(site.synth("status", "--json").stdout)
    (schedule,) = found["schedules"]
    assert schedule["name"] == "synth/every-ten-seconds"
    assert schedule["schedules"] == ["every 10 s"]
    assert schedule["workers"] == 1
    assert schedule["next_firing"] > schedule["last_fired"]
    assert {run["state"] for run in found["runs"]} <= {"completed", "running"}
    again = deploy(site, tmp_path, "every-ten-seconds", "--interval", "7000", "--pause")
    assert again == site.deployment("every-ten-seconds"), "deploying again replaces"
    (schedule,) = json.loads(site.synth("status", "--json").stdout)["schedules"]
    assert (schedule["schedules"], schedule["paused"]) == (["every 7000 s"], True)


def killed_in_the_middle(site: PrefectSite, deployment: str, url: Path) -> str:
    """A flow run whose worker and process were killed with some shards committed."""
    site.worker()
    flow_run = site.fire(deployment)
    wait_for("a shard is committed", lambda: committed(url) >= 1)
    site.kill_workers()
    assert 0 < len(contents(str(url))) < TASKS * TRIALS, "the kill came too late to show anything"
    assert site.state(flow_run) == "RUNNING", "Prefect does not notice"
    return flow_run


def test_a_killed_worker_and_a_restarted_server_cost_nothing_that_was_committed(
    site: PrefectSite, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    deployment, url = deploy(site, tmp_path, "killed"), tmp_path / "run"
    killed = killed_in_the_middle(site, deployment, url)
    before = contents(str(url))
    (dead,) = [
        run
        for run in json.loads(site.synth("status", "--json").stdout)["runs"]
        if run["url"] == str(url)
    ]
    assert (dead["state"], dead["flow_run"]) == ("dead", killed)
    site.kill()
    site.start()
    site.worker()
    assert ended(site, site.fire(deployment)) == "COMPLETED"
    assert site.state(killed) == "CRASHED", "the next firing closes what was killed"
    after = contents(str(url))
    assert {slot: after[slot] for slot in before} == before
    assert after == undisturbed


@pytest.mark.nightly
def test_reap_closes_a_killed_run_at_once_and_any_process_may_finish_it(
    site: PrefectSite, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    deployment, url = deploy(site, tmp_path, "reaped"), tmp_path / "run"
    killed = killed_in_the_middle(site, deployment, url)
    done = site.synth("status", "--reap")
    assert done.returncode == 0, done.stderr
    assert "closed as crashed" in done.stderr
    assert site.state(killed) == "CRASHED"
    (run,) = json.loads(site.synth("status", "--run", str(url), "--json").stdout)["runs"]
    assert run["state"] == "crashed"
    assert site.synth("run", str(tmp_path / "flow.yaml"), "--run-dir", str(url)).returncode == 0
    assert contents(str(url)) == undisturbed


@pytest.mark.nightly
def test_an_outage_of_the_server_does_not_stop_the_work_which_is_told_later(
    site: PrefectSite, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    deployment, url = deploy(site, tmp_path, "outage"), tmp_path / "run"
    site.worker()
    flow_run = site.fire(deployment)
    wait_for("a shard is committed", lambda: committed(url) >= 1)
    assert len(contents(str(url))) < TASKS * TRIALS
    site.kill()
    wait_for("the work is over without a server", lambda: committed(url) == TASKS * TRIALS)
    site.start()
    assert ended(site, flow_run) == "COMPLETED"
    assert contents(str(url)) == undisturbed


@pytest.mark.nightly
def test_the_flow_runs_of_a_firing_share_the_episodes_of_one_ledger(
    site: PrefectSite, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    deployment, url = deploy(site, tmp_path, "shared", "--workers", "2"), tmp_path / "run"
    site.worker()
    assert ended(site, site.fire(deployment)) == "COMPLETED"

    def both_completed() -> list[Any] | None:
        runs = [run for run in site.flow_runs("COMPLETED") if run["deployment_id"] == deployment]
        return runs if len(runs) == 2 else None

    both = wait_for("both flow runs are completed", both_completed)
    assert sorted(run["parameters"]["joins"] for run in both) == [False, True]
    assert contents(str(url)) == undisturbed
    ledger = StoredLedger(str(url))
    assert [begun.stage for begun in ledger.state.stages.values()] == ["tasks", "rollout", "filter"]
    decided = ledger.frame("decisions").select("trajectory_id").unique().collect()
    assert decided.height == TASKS * TRIALS


@pytest.mark.nightly
def test_a_run_that_cannot_go_on_fails_with_its_line_and_the_webhook_is_told(
    site: PrefectSite, tmp_path: Path
) -> None:
    told: list[str] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    hook = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=hook.serve_forever, daemon=True).start()
    try:
        deployment = deploy(
            site, tmp_path, "failing", "--notify", f"http://127.0.0.1:{hook.server_port}/"
        )
        site.worker()
        flow_run = site.fire(deployment, overrides=["env.turns=many"])
        assert ended(site, flow_run) == "FAILED"
        (found,) = [run for run in site.flow_runs() if run["id"] == flow_run]
        assert "env.turns" in found["state"]["message"]
        wait_for("the webhook is told", lambda: bool(told), 60)
    finally:
        hook.shutdown()
        hook.server_close()
    assert "of failing is Failed" in told[0]
    assert "env.turns" in told[0]


SLOWER: dict[str, Any] = {"name": "echo", "tasks": 6, "turns": 5, "step_ms": 500}


@pytest.mark.nightly
@pytest.mark.parametrize("first", [True, False])
def test_where_one_flow_run_of_a_firing_is_killed_the_other_does_all_of_it(
    site: PrefectSite, tmp_path: Path, first: bool
) -> None:
    one_by_one: list[Any] = [{"rollout": {"trials": TRIALS, "shard": 6, "live": 1}}, *STAGES[1:]]
    deployment = deploy(site, tmp_path, "killed", "--workers", "2", env=SLOWER, stages=one_by_one)
    url = tmp_path / "run"
    site.worker()
    fired = site.fire(deployment)

    def at_work() -> dict[bool, Heartbeat] | None:
        beats = heartbeats(Storage(str(url))) if (url / "workers").is_dir() else []
        found = {beat.flow_run == fired: beat for beat in beats if beat.stage == "rollout"}
        return found if len(found) == 2 else None

    both = wait_for("both are at work", at_work)
    killed, other = both[first], both[not first]
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.flow_run is not None
    assert other.flow_run is not None
    assert ended(site, other.flow_run) == "COMPLETED"
    assert site.synth("status", "--reap").returncode == 0
    assert site.state(killed.flow_run) == "CRASHED"
    run_flow(echo_flow(name="killed", env=SLOWER, stages=STAGES), str(tmp_path / "undisturbed"))
    assert contents(str(url)) == contents(str(tmp_path / "undisturbed"))


@pytest.mark.nightly
def test_a_server_that_stays_away_for_good_costs_only_its_own_records(
    site: PrefectSite, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    deployment, url = deploy(site, tmp_path, "alone"), tmp_path / "run"
    flow_run = site.fire(deployment)
    script = """
import runpy, synth.flows.deployments.server as told
told.REPORTS_WITHIN_S = 2.0
runpy.run_module("prefect.engine", run_name="__main__")
"""  # what a worker starts, which waits less long
    environment = site.environment | {
        "PREFECT__FLOW_RUN_ID": flow_run,
        "PREFECT_CLIENT_MAX_RETRIES": "0",
    }
    work = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, env=environment)
    try:
        wait_for("a shard is committed", lambda: committed(url) >= 1)
        site.kill()
        work.wait(timeout=120)
    finally:
        work.kill()
        work.wait()
    assert contents(str(url)) == undisturbed
    (run,) = json.loads(site.synth("status", "--run", str(url), "--json").stdout)["runs"]
    assert (run["state"], run["flow_run"]) == ("completed", flow_run)
    site.start()
    assert site.state(flow_run) == "RUNNING"
    site.synth("status", "--reap")
    assert site.state(flow_run) == "COMPLETED"
