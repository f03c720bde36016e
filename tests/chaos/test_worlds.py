"""A world that hangs, eats all memory or whose process dies: its own episodes end in faults, all
others are as they would have been.
"""

import os
import resource
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from synth.schemas.flow import Flow
from tests.chaos.faults_table import FaultsTable
from tests.chaos.ground import Ground
from tests.chaos.holding import held, mislabelled, rows, twice
from tests.chaos.troubled_worlds import undisturbed
from tests.flow_files import echo_flow

pytestmark = pytest.mark.chaos


ROOM = 3 << 29
"""Bytes of its own memory that a run may have which shares its process with a world that eats
memory.
"""


def troubled(trouble: str, mark: Path, step_timeout_s: float = 1) -> Flow:
    env = {
        "name": "tests.chaos.troubled_world:WORLD",
        "tasks": 12,
        "trouble": trouble,
        "while_there": str(mark),
    }
    limits = {"step_timeout_s": step_timeout_s}
    return echo_flow(
        env=env,
        stages=[{"rollout": {"trials": 2, "shard": 8, "limits": limits}}, {"filter": ["solved"]}],
    )


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (ROOM, ROOM))


@pytest.mark.parametrize(
    ("trouble", "fault", "rerun", "how"),
    [
        pytest.param(
            "hangs", "timeout", "the rows of an undisturbed run", {}, marks=pytest.mark.slow
        ),
        ("hangs_on_a_thread", "timeout", "the rows of an undisturbed run", {}),
        (
            "allocates",
            "environment",
            "left out what the world broke; the rest is as undisturbed",
            {"preexec_fn": limited},
        ),
    ],
)
def test_a_world_that_hangs_or_eats_memory_costs_its_own_episodes(
    trouble: str, fault: str, rerun: str, how: dict[str, Any], tmp_path: Path, table: FaultsTable
) -> None:
    mark = tmp_path / "trouble"
    flow = troubled(trouble, mark)
    truth = undisturbed(tmp_path, flow)
    mark.touch()
    ground = Ground(tmp_path, flow)
    ended = ground.run(**how)
    before = held(ground.url)
    wrong = mislabelled(ground.url, truth, frozenset({fault}))
    found, whole = rows(ground.url), rows(truth)
    broken = (whole["trajectories"] - found["trajectories"]).total()
    every = whole["trajectories"].total()
    assert 0 < broken <= (every if trouble == "hangs_on_a_thread" else every - 1), (
        "threads that hang may be all that there are"
    )
    assert not found["trajectories"] - whole["trajectories"], (
        "those that were not struck are as they would have been"
    )
    mark.unlink()
    assert ground.run() == "finished"
    after = held(ground.url)
    if fault == "timeout":
        assert rows(ground.url) == whole
    elif ended != "finished":
        # the world left so little that the run itself had none: what was not committed is played
        assert ended.startswith("stopped: out of memory"), ended
        again = rows(ground.url)
        assert not [name for name, one in found.items() if one - again[name]]
        assert not again["trajectories"] - whole["trajectories"]
    else:
        assert rows(ground.url) == found, (
            "a fault of the world would repeat itself: it is tried again under a new version of "
            "the world"
        )
    wrong += mislabelled(ground.url, truth, frozenset({fault}))
    names = {
        "hangs": "a world that hangs",
        "hangs_on_a_thread": "a blocking world that hangs its thread",
        "allocates": "a world that eats memory, under ulimit -d",
    }
    table.note(
        names[trouble],
        before=before.records,
        after=after.records,
        lost=before.lost(after),
        twice=twice(ground.url),
        mislabelled=wrong,
        ended=ended,
        rerun=rerun,
    )


def test_a_world_that_holds_the_event_loop_is_named_and_the_run_can_be_stopped(
    tmp_path: Path, table: FaultsTable
) -> None:
    mark = tmp_path / "trouble"
    flow = troubled("hangs_on_the_loop", mark)
    truth = undisturbed(tmp_path, flow)
    mark.touch()
    ground = Ground(tmp_path, flow)
    process = ground.start(quiet=False)
    time.sleep(9)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGTERM)
    _, said = process.communicate(timeout=20)
    assert "troubled_world.py" in said
    assert "this code has held up every episode for" in said
    assert process.returncode == 128 + signal.SIGTERM, said
    before = held(ground.url)
    mark.unlink()
    assert ground.run() == "finished"
    after = held(ground.url)
    assert rows(ground.url) == rows(truth)
    table.note(
        "a world that holds the event loop",
        before=before.records,
        after=after.records,
        lost=before.lost(after),
        twice=twice(ground.url),
        mislabelled=mislabelled(ground.url, truth),
        ended="named while it hangs; stopped by SIGTERM: interrupted",
        rerun="the rows of an undisturbed run",
    )
