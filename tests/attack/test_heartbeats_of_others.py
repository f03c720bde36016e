"""Heartbeats in a stranger's run: they close no flow run of the user's, make nobody wait, and cost
only their own folder.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from synth.claims.workers import heartbeats
from synth.cli.status import status
from synth.engine.runs.beating import remember
from synth.ledger.storage import Storage
from tests.flows.prefect_processes import PrefectSite

PLAIN: dict[str, Any] = {
    "id": "aaaa",
    "flow": "f",
    "url": "/x",
    "host": "h",
    "machine": None,
    "pid": 1,
    "born": None,
    "began": 0,
    "beat": 0,
    "moved": 0,
    "every_s": 5,
}
UNREADABLE = [
    *(
        {"every_s": every_s, "beat": beat}
        for every_s in (-1, 0, 61, 1e9, 1e300)
        for beat in (0, -1e12, -1.7e308, 1.7e308)
    ),
    *(
        {name: number}
        for name in ("beat", "began", "moved", "every_s")
        for number in (-1, 1e12, 10**400, "5", None, [])
    ),
    *(
        {name: number}
        for name in ("pid", "done", "total", "faults", "stages_done")
        for number in (-1, 2**63, 10**400, 0.5)
    ),
    {"id": "another"},
    {"state": "won"},
]


def heartbeat_in(folder: Path, record: dict[str, Any] | str, name: str = "aaaa") -> Path:
    """A run folder with that heartbeat, which this machine remembers."""
    (folder / "workers").mkdir(parents=True, exist_ok=True)
    text = record if isinstance(record, str) else json.dumps({**PLAIN, "id": name, **record})
    (folder / "workers" / f"{name}.json").write_text(text)
    remember(str(folder))
    return folder


@pytest.fixture(autouse=True)
def _nobody_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))


def reaped(*options: str) -> Result:
    return CliRunner().invoke(status, ["--reap", *options], catch_exceptions=False)


@pytest.mark.parametrize("changes", UNREADABLE, ids=lambda changes: str(changes)[:40])
def test_a_record_that_no_clock_writes_is_told_in_one_line_and_the_others_are_closed(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    theirs = heartbeat_in(tmp_path / "a", changes)
    waits: list[float] = []
    dead = heartbeat_in(tmp_path / "b", {"beat": time.time() - 3600, "every_s": 0.01})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("synth.claims.workers.time.sleep", waits.append)
        done = reaped()
    assert done.exit_code == 0
    (line,) = [line for line in done.stderr.splitlines() if str(theirs) in line]
    assert line.startswith(f"{theirs}/workers/aaaa.json: cannot be read as a heartbeat")
    assert waits == [0.025]
    assert [beat.state for beat in heartbeats(Storage(str(dead)))] == ["crashed"]


def test_what_is_no_file_or_nests_without_end_is_no_heartbeat(tmp_path: Path) -> None:
    theirs = heartbeat_in(tmp_path / "a", '{"x":' + "[" * 100_000)
    os.mkfifo(theirs / "workers" / "pipe.json")
    (theirs / "workers" / "folder.json").mkdir()
    (theirs / "workers" / "link.json").symlink_to("/dev/zero")
    heartbeat_in(theirs, {}, "plain")
    assert [beat.id for beat in heartbeats(Storage(str(theirs)))] == ["plain"]


def test_nobody_is_watched_for_longer_than_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heartbeat_in(tmp_path / "a", {"every_s": 60})
    waits: list[float] = []
    monkeypatch.setattr("synth.claims.workers.time.sleep", waits.append)
    assert reaped().exit_code == 0
    assert waits == [150.0]


def test_a_flow_that_rings_the_bell_is_shown_without_it(tmp_path: Path) -> None:
    heartbeat_in(tmp_path / "a", {"flow": "\x1b]0;owned\x07", "every_s": 0.01})
    done = reaped()
    assert "closed as crashed" in done.stderr
    assert not {"\x1b", "\x07"} & {*done.stderr, *done.stdout}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[PrefectSite]:
    """A server of the user's."""
    made = PrefectSite(tmp_path)
    made.start()
    yield made
    made.end()


def at_work(site: PrefectSite, **parameters: Any) -> str:
    """A flow run that the server has as RUNNING."""
    flow = site.ask("flows/", name="synth")["id"]
    made = site.ask(
        "flow_runs/",
        flow_id=flow,
        parameters=parameters,
        state={"type": "RUNNING", "name": "Running"},
    )
    return str(made["id"])


def test_only_the_flow_run_that_writes_there_by_the_servers_record_is_told(
    site: PrefectSite, tmp_path: Path
) -> None:
    own, named = tmp_path / "mine", {"flow": {"name": "f"}}
    working = at_work(site, **named, run_dir=str(own))
    ended = at_work(site, **named, run_dir=str(own))
    others = [
        at_work(site),
        at_work(site, run_dir=5, flow=[], overrides=7),
        at_work(site, **named, run_dir="theirs", overrides=[1]),
    ]
    far = {"beat": time.time() + 1e6, "api": "http://somewhere.else/api"}
    theirs = tmp_path / "theirs"
    for flow_run in (working, ended, *others):
        heartbeat_in(
            theirs, {**far, "state": "failed", "flow_run": flow_run, "url": str(own)}, flow_run
        )
    for name, word in {
        "b": "not-a-uuid",
        "c": "",
        "d": working.upper(),
        "e": "{" + working + "}",
    }.items():
        heartbeat_in(theirs, {**far, "state": "completed", "flow_run": word}, name)
    heartbeat_in(
        own, {**far, "state": "completed", "flow_run": ended, "machine": "another boot"}, ended
    )

    done = site.synth("status", "--reap")
    assert done.returncode == 0, done.stderr
    assert [site.state(flow_run) for flow_run in (working, ended, *others)] == [
        "RUNNING",
        "COMPLETED",
        *["RUNNING"] * 3,
    ]
    assert f"{theirs} names it, but it is of another run" in done.stderr
