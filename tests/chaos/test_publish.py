"""A publication killed at random moments: the same command again brings the same files, and never a
second copy of one.
"""

import os
import subprocess
import time
from pathlib import Path
from random import Random

import pytest

from tests.chaos.faults_table import FaultsTable
from tests.chaos.ground import ROOT, Ground, every_stage, kill
from tests.flow_files import SYNTH
from tests.synth.hub.hub_server import TOKEN, Hub

pytestmark = pytest.mark.chaos
REPO = "me/chaos"


def publish(url: str, hub: Hub) -> "subprocess.Popen[str]":
    command = [*SYNTH, "publish", url, "--repo", REPO, "--license", "apache-2.0", "--yes"]
    environment = os.environ | {
        "HF_ENDPOINT": hub.url,
        "HF_HUB_DISABLE_XET": "1",
        "HF_TOKEN": TOKEN,
    }
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, start_new_session=True, **pipes
    )  # type: ignore[call-overload,no-any-return]


def finished(process: "subprocess.Popen[str]") -> None:
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said


def files(hub: Hub) -> dict[str, bytes]:
    return {
        path: blob
        for path, blob in hub.repos[REPO].commits[-1].items()
        if path.endswith(".parquet")
    }


def test_killed_at_random_moments(tmp_path: Path, table: FaultsTable, draw: Random) -> None:
    ground = Ground(tmp_path, every_stage())
    assert ground.run() == "finished"
    whole, hub = Hub(), Hub()
    try:
        began = time.monotonic()
        finished(publish(ground.url, whole))
        seconds = time.monotonic() - began
        for _ in range(3):
            process = publish(ground.url, hub)
            time.sleep(draw.uniform(0.3, 1) * seconds)
            kill(process)
        before = ground.records()
        finished(publish(ground.url, hub))
        shown, meant = files(hub), files(whole)
        assert shown == meant
        assert hub.repos[REPO].private
        names = [
            path
            for path in hub.repos[REPO].commits[-1]
            if path not in whole.repos[REPO].commits[-1]
        ]
        table.note(
            "kill -9 of a publication, three times",
            before=before,
            after=ground.records(),
            lost=len(meant.keys() - shown.keys()),
            twice=len(names),
            mislabelled=0,
            ended="killed",
            rerun="the files of an undisturbed publication",
        )
    finally:
        whole.close()
        hub.close()
