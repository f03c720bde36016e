"""A Prefect server that wants a password, and one on PostgreSQL: deployments work as on any other,
and the password is written nowhere.
"""

import base64
import json
import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.deployed_echo import STAGES, TASKS, TRIALS, committed, contents, deploy, ended
from tests.flows.prefect_processes import PrefectSite, wait_for

pytestmark = pytest.mark.slow
AUTH = "admin:tiger-77-lily"


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[PrefectSite]:
    made = PrefectSite(tmp_path, auth=AUTH)
    made.start()
    yield made
    made.end()


@pytest.mark.nightly
def test_a_password_is_asked_for_in_one_line_and_written_nowhere(
    guarded: PrefectSite, tmp_path: Path
) -> None:
    deployment, url = deploy(guarded, tmp_path, "guarded"), tmp_path / "run"
    for given, problem in (
        ("", "none is set"),
        ("admin:another", "the one that is set is not its own"),
    ):
        done = guarded.synth("deploy", str(tmp_path / "flow.yaml"), PREFECT_API_AUTH_STRING=given)
        line = (
            f"Prefect: the server at {guarded.url} wants a PREFECT_API_AUTH_STRING, and "
            f"{problem}; set it"
        )
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert line in done.stderr
    status = guarded.synth("status", "--json", PREFECT_API_AUTH_STRING="")
    assert status.returncode == 0, status.stderr
    assert "and none is set" in json.loads(status.stdout)["problem"]
    in_url = guarded.synth("status", PREFECT_API_URL=guarded.url.replace("//", f"//{AUTH}@"))
    assert (in_url.returncode, in_url.stderr.count("\n")) == (2, 1)
    assert "set PREFECT_API_AUTH_STRING=user:password instead" in in_url.stderr
    guarded.worker()
    killed = guarded.fire(deployment)
    wait_for("a shard is committed", lambda: committed(url) >= 1)
    guarded.kill_workers()
    assert "closed as crashed" in guarded.synth("status", "--reap").stderr
    assert guarded.state(killed) == "CRASHED"
    guarded.worker()
    assert ended(guarded, guarded.fire(deployment)) == "COMPLETED"
    assert len(contents(str(url))) == TASKS * TRIALS
    guarded.end()
    secrets = (AUTH.partition(":")[2].encode(), base64.b64encode(AUTH.encode()))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"server.log", "worker0.log", "prefect.db"} <= {path.name for path in files}
    assert [path for path in files if any(secret in path.read_bytes() for secret in secrets)] == []


@pytest.fixture
def postgresql(tmp_path: Path) -> Iterator[str]:
    """The URL of a database that is gone afterwards."""
    found = shutil.which("initdb")
    if found is None or shutil.which("pg_ctl") is None:
        pytest.skip("PostgreSQL is not installed: there is no initdb, or no pg_ctl")
    try:
        owner = (
            pwd.getpwnam("postgres") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
        )  # it does not run as root
    except KeyError:
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    folder = Path(
        subprocess.check_output(["mktemp", "-d", "/tmp/synth-pg.XXXXXX"], text=True).strip()
    )
    os.chown(folder, owner.pw_uid, owner.pw_gid)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def as_owner(*command: str) -> None:
        subprocess.run(
            command,
            user=owner.pw_uid,
            group=owner.pw_gid,
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=120,
        )

    try:
        as_owner(found, "-D", f"{folder}/data", "-A", "trust", "-U", "prefect")
        options = (
            f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c "
            "fsync=off"
        )
        as_owner(
            "pg_ctl", "-D", f"{folder}/data", "-o", options, "-l", f"{folder}/log", "-w", "start"
        )
        try:
            yield f"postgresql+asyncpg://prefect@127.0.0.1:{port}/postgres"
        finally:
            as_owner("pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)


@pytest.mark.nightly
def test_a_schedule_fires_on_a_server_with_postgresql(postgresql: str, tmp_path: Path) -> None:
    site = PrefectSite(tmp_path, database=postgresql)
    try:
        site.start()
        quick = {"name": "echo", "tasks": 4, "turns": 3}
        deploy(
            site,
            tmp_path,
            "on-postgresql",
            "--interval",
            "5",
            "--run-dir",
            str(tmp_path / "{time}"),
            env=quick,
            stages=STAGES[:1],
        )
        site.worker()
        (first, *_) = wait_for("a firing is over", lambda: site.flow_runs("COMPLETED") or None)
        url = first["state"]["message"].removeprefix("all of it lies in ")
        assert len(contents(url)) == 4 * TRIALS
        assert not list((tmp_path / "prefect").glob("*.db")), "the server keeps nothing in SQLite"
    finally:
        site.end()
