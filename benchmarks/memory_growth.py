"""Memory: peak of `synth run` (episodes, both filters, SFT export) at one size and at ten times
that size.

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
"""One whole shard of the filter stage, two and a half of the rollout stage: what grows beyond that
grows with the run.
"""


def ran(episodes: int, folder: Path) -> Ended:
    """One run of that many episodes into a fresh directory; each is 9 turns of which 8 carry the
    payload.
    """
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
    return ended(
        [*SYNTH, "run", str(flow_file), "--run-dir", str(work / "run"), "--quiet"], work / "state"
    )


def measure(episodes: int = EPISODES, factor: int = 10, rounds: int = 3) -> Report:
    """Both sizes turn by turn, and one episode alone: what imports and stages cost before anything
    is to be kept.
    """
    sizes = {"one": 1, "small": episodes, "large": episodes * factor}
    runs: dict[str, list[Ended]] = {name: [] for name in sizes}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, size in sizes.items():
                runs[name].append(ran(size, Path(folder)))
    peak = {name: median(run.peak_mib for run in found) for name, found in runs.items()}
    wall = {name: median(run.wall_s for run in found) for name, found in runs.items()}
    small_ms, large_ms = (
        (wall[name] - wall["one"]) / (sizes[name] - 1) * 1000 for name in ("small", "large")
    )
    return Report(
        f"Memory at {factor} times the size",
        (
            Figure("peak memory at 1 episode", peak["one"], "MiB"),
            Figure(f"peak memory at {sizes['small']:,} episodes", peak["small"], "MiB"),
            Figure(f"peak memory at {sizes['large']:,} episodes", peak["large"], "MiB"),
            Figure(
                "peak, large / small", peak["large"] / peak["small"], "x", Target("at most", 1.15)
            ),
            Figure(
                "growth per further episode",
                (peak["large"] - peak["small"]) * 2**20 / (sizes["large"] - sizes["small"]),
                "bytes",
            ),
            Figure(f"whole run at {sizes['small']:,} episodes", wall["small"], "s"),
            Figure(f"whole run at {sizes['large']:,} episodes", wall["large"], "s"),
            Figure("time per episode, large / small", large_ms / small_ms, "x"),
        ),
        f"`synth run` on the echo world, {TURNS} words and {PAYLOAD_BYTES} bytes per answer, "
        "shards of 200; "
        f"peak resident memory of the process, medians of {rounds} runs each, in turn; time per "
        "episode beyond the run of one.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
