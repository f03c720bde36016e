"""Memory: peak of `synth run` (episodes, both filters, SFT export) at one size and at ten times that size.

Run: `python -m benchmarks.memory_growth`
"""

import json
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.command_line import SYNTH, Ended, ended
from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers

PAYLOAD_BYTES = 2000
TURNS = 8
EPISODES = 500
"""One whole shard of the filter stage, two and a half of the rollout stage: what grows beyond that grows with the run."""


def ran(episodes: int, folder: Path) -> Ended:
    """One run of that many episodes into a fresh directory; each is 9 turns of which 8 carry the payload."""
    flow = {
        "name": "memory",
        "env": {"name": "echo", "tasks": episodes, "turns": TURNS, "payload_bytes": PAYLOAD_BYTES},
        "models": {"explorer": {"policy": "expert"}},
        "stages": [
            {"rollout": {"trials": 1, "shard": 200}},
            {"filter": ["solved", "reexecuted"]},
            {"export": {"kinds": ["sft"], "include_scripted": True}},
        ],
    }
    work = Path(tempfile.mkdtemp(dir=folder))
    flow_file = work / "flow.yaml"
    flow_file.write_text(json.dumps(flow), encoding="utf-8")
    return ended([*SYNTH, "run", str(flow_file), "--run-dir", str(work / "run"), "--quiet"], work / "state")


def measure(episodes: int = EPISODES, factor: int = 10, rounds: int = 3) -> Report:
    """Both sizes turn by turn."""
    small, large = [], []
    with tempfile.TemporaryDirectory() as name:
        for _ in range(rounds):
            small.append(ran(episodes, Path(name)))
            large.append(ran(episodes * factor, Path(name)))
    low, high = median(run.peak_mib for run in small), median(run.peak_mib for run in large)
    more = episodes * (factor - 1)
    return Report(
        "Memory at ten times the size" if factor == 10 else f"Memory at {factor} times the size",
        (
            Figure(f"peak memory at {episodes:,} episodes", low, "MiB"),
            Figure(f"peak memory at {episodes * factor:,} episodes", high, "MiB"),
            Figure("ratio", high / low, "x", Target("at most", 1.15)),
            Figure("growth per further episode", (high - low) * 2**20 / more, "bytes"),
            Figure(f"whole run at {episodes:,} episodes", median(run.wall_s for run in small), "s"),
            Figure(f"whole run at {episodes * factor:,} episodes", median(run.wall_s for run in large), "s"),
        ),
        f"`synth run` on the echo world, {TURNS} words and {PAYLOAD_BYTES} bytes per answer, shards of 200; "
        f"peak resident memory of the process, medians of {rounds} runs each.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
