"""`synth work`: workers that share nothing but the run."""

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from synth import ConfigError, work
from synth.ledger import StoredLedger
from synth.schemas.flow import Flow
from tests.flow_files import SYNTH, echo_flow, model_flow, run_flow
from tests.rounds import rounds
from tests.synth.canonical_content import canonical_content
from tests.synth.models.chat_brains import echo_expert
from tests.synth.models.chat_server import ChatServer

ROOT = Path(__file__).resolve().parents[2]
TASKS, TRIALS = 12, 4
EPISODES = TASKS * TRIALS
ENV: dict[str, Any] = {"name": "echo", "tasks": TASKS, "turns": 6, "step_ms": 20}
STAGES: list[Any] = [
    {"rollout": {"trials": TRIALS, "shard": 6, "live": 4}},
    {"filter": ["solved"]},
    {"export": {"kinds": ["sft"], "as": "trl", "include_scripted": True}},
]
ONE_SHARD: list[Any] = [{"rollout": {"trials": TRIALS, "shard": 20, "live": 4}}, *STAGES[1:]]
SLOW = echo_flow(env=ENV, stages=STAGES, lease_s=2)


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))


def write(flow: Flow, path: Path) -> Path:
    path.write_text(yaml.safe_dump(flow.model_dump(mode="json")))
    return path


def begun(flow: Flow, folder: Path) -> str:
    """A run of the flow that has its tasks, and no episode."""
    url = str(folder / "run")
    report = work(url, flow=write(flow, folder / "flow.yaml"), max_units=1, quiet=True)
    assert (report.units, contents(url)) == (1, {})
    return url


def worker(url: str, *options: str, **environment: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*SYNTH, "work", url, *options],
        cwd=ROOT,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: "subprocess.Popen[str]") -> str:
    """What a worker that ended well has printed."""
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    return stdout


def contents(url: str) -> dict[str, Any]:
    """Content by slot; a slot that was filled twice fails."""
    ledger = StoredLedger(url)
    found = [(one.slot_id, canonical_content(one)) for one in ledger.trajectories()]
    assert len(found) == len(dict(found))
    return dict(found)


def undisturbed(flow: Flow, folder: Path) -> dict[str, Any]:
    run_flow(flow, str(folder / "undisturbed"))
    return contents(str(folder / "undisturbed"))


def units(said: str) -> int:
    return int(said.rpartition(": ")[2].split()[0])


def rows(url: str) -> int:
    return len(pl.read_parquet(f"{url}/datasets/sft/*.parquet"))


@pytest.mark.slow
@pytest.mark.parametrize("machines", rounds(2, nightly=[1]))
def test_two_workers_share_the_episodes_and_end_when_nothing_is_left(
    tmp_path: Path, machines: int
) -> None:
    url = begun(SLOW, tmp_path)
    file = ("--flow", str(tmp_path / "flow.yaml"))
    both = [
        worker(url, *file, SYNTH_STATE_DIR=str(tmp_path / f"state{number % machines}"))
        for number in range(2)
    ]
    said = [ended(process) for process in both]
    assert all(line.endswith("nothing is left\n") for line in said)
    assert min(map(units, said)) > 0
    assert sum(map(units, said)) > EPISODES, "the filter's shards and the export are units too"
    assert contents(url) == undisturbed(SLOW, tmp_path)
    assert rows(url) == EPISODES


@pytest.mark.slow
@pytest.mark.parametrize("machines", rounds(2, nightly=[1]))
def test_what_a_killed_worker_had_in_hand_is_done_by_the_other(
    tmp_path: Path, machines: int
) -> None:
    url = begun(SLOW, tmp_path)
    file = ("--flow", str(tmp_path / "flow.yaml"))
    victim = worker(url, *file, SYNTH_STATE_DIR=str(tmp_path / "state0"))
    deadline = time.monotonic() + 60
    while not contents(url):
        assert victim.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    victim.kill()
    victim.wait()
    assert len(contents(url)) < EPISODES
    other = worker(url, *file, SYNTH_STATE_DIR=str(tmp_path / f"state{machines - 1}"))
    assert ended(other).endswith("nothing is left\n")
    assert contents(url) == undisturbed(SLOW, tmp_path)


@pytest.mark.slow
def test_a_worker_ends_after_its_units_and_the_next_one_goes_on_where_it_stopped(
    tmp_path: Path,
) -> None:
    quick = echo_flow(env={"name": "echo", "tasks": 5, "turns": 2}, stages=ONE_SHARD)
    url = begun(quick, tmp_path)
    first = work(url, max_units=7, quiet=True)
    assert (first.units, first.stopped) == (7, "7 of 7 units (--max-units) are done")
    assert len(contents(url)) == 7
    second = work(url, max_units=13, quiet=True)
    assert (second.units, len(contents(url))) == (13, 20)
    assert second.stopped == "13 of 13 units (--max-units) are done", "filter and export are left"
    third = work(url, quiet=True)
    assert (third.units, third.stopped) == (3, None), "two shards of the filter, and the export"
    assert rows(url) == 20
    assert contents(url) == undisturbed(quick, tmp_path)


@pytest.mark.slow
def test_workers_of_one_unit_each_end_a_run(tmp_path: Path) -> None:
    quick = echo_flow(env={"name": "echo", "tasks": 2, "turns": 1}, stages=ONE_SHARD)
    url = begun(quick, tmp_path)
    reports = [work(url, max_units=1, quiet=True)]
    while reports[-1].stopped is not None:
        reports.append(work(url, max_units=1, quiet=True))
    assert {report.units for report in reports} == {1}
    assert len(reports) == 2 * (2 * TRIALS) + 1, "an episode and its shard of the filter; export"


@pytest.mark.slow
def test_where_nothing_is_left_a_worker_claims_nothing_and_ends_well(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(echo_flow(), url)
    lines = StoredLedger(url).state.lines
    assert ended(worker(url)) == f"{url}: 0 units done here; nothing is left\n"
    assert StoredLedger(url).state.lines == lines


def test_a_worker_with_another_flow_is_refused_with_the_setting_that_differs(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    run_flow(echo_flow(), url)
    lines = StoredLedger(url).state.lines
    with pytest.raises(ConfigError, match=r"is a run of 'echo' with other settings .*\(seed\)"):
        work(url, flow=echo_flow(seed=4), quiet=True)
    assert StoredLedger(url).state.lines == lines


def test_a_run_that_no_flow_began_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no run"):
        work(tmp_path / "nothing", quiet=True)
    assert not (tmp_path / "nothing").exists()


@pytest.mark.slow
def test_the_flow_in_a_run_of_another_machine_asks_no_server_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = str(tmp_path / "run")
    with ChatServer(echo_expert) as server:
        flow = model_flow(server.url)
        run_flow(flow, url)
        monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "elsewhere"))
        asked = server.counts()["total"]
        with pytest.raises(ConfigError, match=r"models\.explorer\); name the file .* --flow"):
            work(url, quiet=True)
        assert server.counts()["total"] == asked
        assert work(url, flow=flow, quiet=True).stopped is None
