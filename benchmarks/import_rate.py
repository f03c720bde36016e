"""Import: tau-bench results per second and core, from JSON lines to a committed ledger, and the
memory that a long file takes.

Run: `python -m benchmarks.import_rate`
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers

TURNS = 14
_CHARACTERS = 17_000
"""Of one record: real tau-bench attempts have about 30 messages and 17 KB."""
_CHILD = """
import resource, sys
from time import process_time
from pathlib import Path
from synth.importers.commit import import_into
from synth.engine.progress import progress_for
began = process_time()
tally = import_into(sys.argv[2], [Path(sys.argv[1])], "auto", progress_for(quiet=True))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(tally.total(["trajectories"]), process_time() - began, peak)
"""


def attempt(number: int, rng: random.Random) -> dict[str, Any]:
    """One made-up attempt in tau-bench's form: policy, then tool calls with results, then text."""
    words = [f"{rng.getrandbits(32):08x}" for _ in range(_CHARACTERS // 9)]
    share = len(words) // (TURNS * 2 + 8)
    text = iter(" ".join(words[at : at + share]) for at in range(0, len(words), share))
    messages: list[dict[str, Any]] = [
        {
            "role": "system",
            "content": "# Retail agent policy\n" + " ".join(next(text) for _ in range(6)),
        },
        {"role": "user", "content": next(text)},
    ]
    for turn in range(TURNS - 1):
        call = {
            "id": f"call_{turn}",
            "type": "function",
            "function": {"name": "get_order", "arguments": json.dumps({"order": next(text)})},
        }
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append(
            {
                "role": "tool",
                "tool_call_id": f"call_{turn}",
                "name": "get_order",
                "content": next(text),
            }
        )
    messages.append({"role": "assistant", "content": "Done."})
    task = {
        "user_id": f"u{number // 4}",
        "instruction": f"Task {number // 4}",
        "actions": [],
        "outputs": [],
    }
    return {
        "task_id": number // 4,
        "trial": number % 4,
        "reward": float(number % 3 == 0),
        "info": {"task": task},
        "traj": messages,
    }


def write(path: Path, count: int) -> int:
    """A file of `count` attempts, as JSON lines; its size in bytes."""
    rng = random.Random(7)
    with path.open("w") as file:
        for number in range(count):
            file.write(json.dumps(attempt(number, rng)) + "\n")
    return path.stat().st_size


def imported(path: Path, run: Path, expected: int) -> tuple[float, float]:
    """(CPU seconds, peak memory in MB) of an import in a process of its own."""
    out = subprocess.run(
        [sys.executable, "-c", _CHILD, str(path), str(run)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    if int(out[0]) != expected:
        raise RuntimeError(f"{out[0]} of {expected} came in")
    return float(out[1]), float(out[2]) / 1024


def measure(count: int = 4_000, long: int = 100_000, rounds: int = 3) -> Report:
    """Imports `count` attempts `rounds` times, and a file of `long` once; the decoder alone beside
    it.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = write(folder / "x.jsonl", count)
        seconds = sorted(
            imported(folder / "x.jsonl", folder / f"run{i}", count)[0] for i in range(rounds)
        )[rounds // 2]
        decoding = sorted(_decoded(folder / "x.jsonl") for _ in range(rounds))[rounds // 2]
        write(folder / "x.jsonl", long)
        long_seconds, memory = imported(folder / "x.jsonl", folder / "long", long)
    return Report(
        "Import",
        (
            Figure(
                f"trajectories of {TURNS} turns imported per second of CPU",
                count / seconds,
                "/s",
                Target("at least", 2000),
            ),
            Figure("the same lines through json.loads", count / decoding, "/s"),
            Figure(f"{long:,} in one file, per second of CPU", long / long_seconds, "/s"),
            Figure(f"peak memory for {long:,} in one file", memory, "MB", Target("at most", 500)),
        ),
        f"JSON lines of {size / count / 1000:.1f} KB; median of {rounds} rounds; CPU time of all "
        "threads; pages of this process "
        f"{resource.getpagesize()} bytes.",
    )


def _decoded(path: Path) -> float:
    began = process_time()
    with path.open("rb") as file:
        for line in file:
            json.loads(line)
    return process_time() - began


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
