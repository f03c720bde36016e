"""The stage `topology` over a whole ledger: peak memory and rate of `synth run`, on as many made
trials as asked for, four to a task.

Run: `python -m benchmarks.topology_memory`
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.command_line import ROOT, SYNTH, ended
from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.recorded_episodes import TURNS, recorded_episodes
from synth.ledger.ledger import StageRef, StoredLedger
from synth.schemas.canonical import content_hash
from synth.schemas.outcome import Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory

TRIALS, SMALL = 100_000, 10_000
PER_TASK, PER_SHARD = 4, 400
_FLOW = {"name": "measured", "stages": [{"topology": {"learn": 0}}]}


def trials(count: int) -> Iterator[tuple[list[Task], list[Trajectory]]]:
    """Shards of them. The trials of a task begin alike and part at a turn of their own; every other
    one succeeds.
    """
    for shard in range(0, count, PER_SHARD):
        made = recorded_episodes(min(PER_SHARD, count - shard), shard)
        tasks = [
            Task.identified(env="echo", goal=f"Task {shard + at}.")
            for at in range(0, len(made), PER_TASK)
        ]
        found = []
        for at, episode in enumerate(made):
            first, shared = made[at - at % PER_TASK], 2 + 2 * (at % PER_TASK)
            success = at % 2 == 0
            changed = {
                "task_id": tasks[at // PER_TASK].task_id,
                "trial": at % PER_TASK,
                "synthesizer": "import",
                "env": "echo",
                "turns": (*first.turns[:shared], *episode.turns[shared:]),
                "outcome": Outcome.SUCCESS if success else Outcome.FAILURE,
                "reward": float(success),
                "opening_state_key": None,
            }
            found.append(msgspec.structs.replace(episode, **changed))
        yield tasks, found


def fill(url: str, count: int) -> None:
    """A ledger with that many trials."""
    ledger = StoredLedger(url, create=True)
    for tasks, found in trials(count):
        ledger.commit(
            StageRef("import", content_hash([one.slot_id for one in found])),
            tasks=tasks,
            trajectories=found,
        )


def measure(count: int = TRIALS, small: int = SMALL) -> Report:
    """Each ledger is made and measured in processes of their own."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        flow_file = Path(folder, "flow.yaml")
        flow_file.write_text(json.dumps(_FLOW), encoding="utf-8")
        for size in (small, count):
            url = str(Path(folder, str(size)))
            subprocess.run(
                [sys.executable, "-m", "benchmarks.topology_memory", "--fill", url, str(size)],
                cwd=ROOT,
                check=True,
            )
            found[size] = ended(
                [*SYNTH, "run", str(flow_file), "--run-dir", url, "--quiet"],
                Path(folder, f"state-{size}"),
            )
    large, few = found[count], found[small]
    figures = (
        Figure(
            f"peak memory, {count:,} trials",
            large.peak_mib,
            "MiB",
            Target("at most", 500 * 10**6 / 2**20),
        ),
        Figure(f"peak memory, {small:,} trials", few.peak_mib, "MiB"),
        Figure("peak, large / small", large.peak_mib / few.peak_mib, "x"),
        Figure("whole stage, rows written", count / large.wall_s, "trials/s"),
        Figure("time per trial, large / small", large.wall_s / count / (few.wall_s / small), "x"),
    )
    how = (
        f"`synth run` with the stage alone, on a ledger of made trials of {TURNS} turns, "
        f"{PER_TASK} to a task; one process each."
    )
    return Report("Memory of the stage topology", figures, how)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fill"]:
        fill(sys.argv[2], int(sys.argv[3]))
        sys.exit(0)
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
