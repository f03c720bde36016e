"""An import that is killed leaves a run that the same command completes."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from synth.ledger.ledger import StoredLedger
from tests.flow_files import SYNTH

SMALL, LARGE, FILES = 3, 1200, 12


def chats(name: str, count: int) -> str:
    said = [
        [{"role": "user", "content": f"{name} {i}"}, {"role": "assistant", "content": "ok " * 400}]
        for i in range(count)
    ]
    return "".join(json.dumps({"messages": messages}) + "\n" for messages in said)


def start(source: Path, run: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*SYNTH, "import", str(source), "--into", str(run), "-q"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def written(run: Path) -> int:
    return sum(1 for _ in run.rglob("*.parquet"))


def named(run: Path) -> set[str]:
    return {
        file.path for shard in StoredLedger(str(run)).state.shards for file in shard.files.values()
    }


@pytest.mark.slow
def test_it_goes_on_where_it_was_killed_and_what_no_line_names_is_part_of_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "in").mkdir()
    for i in range(
        FILES
    ):  # small files that are committed together, and large ones of several shards each
        (tmp_path / "in" / f"{i:02d}.jsonl").write_text(
            chats(str(i), LARGE if i % 3 == 0 else SMALL)
        )
    assert start(tmp_path / "in", tmp_path / "whole").wait() == 0
    whole = {t.trajectory_id: t for t in StoredLedger(str(tmp_path / "whole")).trajectories()}
    assert len(whole) == LARGE * 4 + SMALL * 8
    draw, run, killed, unnamed = random.Random(7), tmp_path / "run", 0, 0
    for stop in [1, 4, *(draw.randrange(5, written(tmp_path / "whole")) for _ in range(5))]:
        process = start(tmp_path / "in", run)
        before = written(run)
        while process.poll() is None and written(run) < before + stop:
            time.sleep(0.0005)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        process.wait()
        unnamed = (
            max(unnamed, written(run) - len(named(run)))
            if (run / "manifest" / "00000000").exists()
            else unnamed
        )
    assert killed >= 3
    assert start(tmp_path / "in", run).wait() == 0
    found = list(StoredLedger(str(run)).trajectories())
    assert len(found) == len(whole)
    assert {t.trajectory_id: t for t in found} == whole
    assert unnamed > 0, "no kill fell between a shard and its line: the test shows nothing"
    assert start(tmp_path / "in", run).wait() == 0
    assert len(list(StoredLedger(str(run)).trajectories())) == len(whole)
