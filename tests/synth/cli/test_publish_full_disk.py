"""`synth publish` where there is no room on this machine: one line that says where, and nothing
sent twice.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flow_files import echo_flow, run_flow
from tests.synth.hub.hub_server import Hub
from tests.synth.hub.publisher import SENT, publish, refused

pytestmark = pytest.mark.slow


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of 32 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(disk)],
            check=False,
            capture_output=True,
        ).returncode
        != 0
    ):
        pytest.skip("no right to mount a small disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    flow = echo_flow(
        stages=[
            {"rollout": {"trials": 2}},
            {"export": {"kinds": ["sft", "rl"], "include_scripted": True}},
        ]
    )
    run_flow(flow, str(tmp_path / "run"))
    return tmp_path / "run"


def test_where_it_cannot_be_noted_what_is_begun_nothing_is_sent(
    run_dir: Path, small: Path, hub: Hub, environment: dict[str, str]
) -> None:
    (small / "full").write_bytes(b"x" * 32768)
    line = refused(
        publish(run_dir, *SENT, **environment | {"SYNTH_STATE_DIR": str(small / "state")})
    )
    assert f"{small}/state/publish/" in line
    assert (
        "cannot be written: No space left on device; nothing was sent; free some room, or set "
        "SYNTH_STATE_DIR" in line
    )
    assert hub.repos == {}


def test_without_room_to_read_back_it_says_where_and_the_same_command_ends_well(
    run_dir: Path, small: Path, hub: Hub, environment: dict[str, str]
) -> None:
    line = refused(publish(run_dir, *SENT, "--public", **environment, TMPDIR=str(small)), code=1)
    assert (
        f"me/set: was sent, but {small} has no room to read it back in: free some, or name "
        "another folder with TMPDIR" in line
    )
    assert hub.repos["me/set"].private, "what was not read back is not made public"
    assert list(small.iterdir()) == []
    done = publish(run_dir, *SENT, "--public", **environment)
    assert done.returncode == 0, done.stderr
    assert "nothing to send: the Hub holds it already" in done.stdout
    assert not hub.repos["me/set"].private


def test_what_was_read_back_stays_in_no_cache_of_the_user(
    run_dir: Path, hub: Hub, environment: dict[str, str]
) -> None:
    assert publish(run_dir, *SENT, **environment).returncode == 0
    assert list(Path(environment["HF_HOME"]).rglob("*.parquet")) == []
    assert list(Path(environment["HF_HOME"]).rglob("*.arrow")) == []
