"""`python -m benchmarks.scoring_head` (extra `score`): rank and log-probability in chunks of the
vocabulary, against full logits.

Each method runs in a process of its own, so that its peak of memory is its own; the two take turns,
so that noise falls on both alike.
"""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.command_line import ROOT
from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers

POSITIONS, WIDTH, VOCABULARY = 2048, 256, 32_768
ROUNDS = 5
METHODS = ("full", "chunks")
"""`full`: all logits at once, as a plain forward gives them, `(logits > chosen).sum` and logsumexp.
"""


def _inputs() -> tuple[Any, Any, Any]:
    """Hidden states, head and targets as a model's are: half of the targets are likely, the others
    drawn at random.
    """
    import torch

    draw = torch.Generator().manual_seed(0)
    hidden = torch.randn((POSITIONS, WIDTH), generator=draw)
    weight = torch.randn((VOCABULARY, WIDTH), generator=draw) * WIDTH**-0.5
    targets = torch.randint(VOCABULARY, (POSITIONS,), generator=draw)
    hidden[::2] += 4 * weight[targets[::2]]
    return hidden, weight, targets


def _full(hidden: Any, weight: Any, targets: Any) -> tuple[Any, Any]:
    logits = hidden @ weight.T
    chosen = logits.gather(1, targets[:, None])
    return (logits > chosen).sum(-1) + 1, chosen[:, 0] - logits.logsumexp(-1)


def one(method: str, threads: int) -> dict[str, Any]:
    """Seconds and extra peak memory (bytes) of one method in this process, and what it finds."""
    from time import perf_counter, process_time

    import torch

    from synth.models.local.transformers_ranks import ranks_and_logprobs

    clock = (
        process_time if threads == 1 else perf_counter
    )  # the CPU's seconds are the same beside other processes
    torch.set_num_threads(threads)
    hidden, weight, targets = _inputs()

    def score(rows: int, words: int) -> tuple[Any, Any]:
        head, wanted = weight[:words], targets[:rows] % words
        return (
            _full(hidden[:rows], head, wanted)
            if method == "full"
            else ranks_and_logprobs(hidden[:rows], head, None, wanted)
        )

    with torch.inference_mode():
        score(8, 256)
        Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
        before = _peak_bytes()
        ranks, logprobs = score(POSITIONS, VOCABULARY)
        extra = _peak_bytes() - before
        times = []
        for _ in range(3):
            began = clock()
            score(POSITIONS, VOCABULARY)
            times.append(clock() - began)
    return {
        "seconds": min(times),
        "bytes": extra,
        "ranks": ranks.tolist(),
        "logprobs": logprobs.tolist(),
    }


def _peak_bytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def main() -> int:
    """Runs both methods by turns, with one thread and with two."""
    others = CpuOfOthers()
    figures = []
    for threads in (1, 2):
        found: dict[str, list[dict[str, Any]]] = {method: [] for method in METHODS}
        for _ in range(ROUNDS):
            for method in METHODS:
                command = [sys.executable, "-m", "benchmarks.scoring_head", method, str(threads)]
                done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
                found[method].append(json.loads(done.stdout))
        figures += _figures(found["full"], found["chunks"], threads)
    how = (
        f"{POSITIONS:,} positions, width {WIDTH}, vocabulary {VOCABULARY:,}, float32; medians of "
        f"{ROUNDS} pairs of processes, the best of "
        "three passes in each: seconds of CPU with one thread, of the clock with two. Extra "
        "memory: peak of the process less its peak "
        "before the first pass."
    )
    return shown(Report("Rank and surprisal of given tokens", figures, how), others)


def _figures(
    full: list[dict[str, Any]], chunks: list[dict[str, Any]], threads: int
) -> list[Figure]:
    speed = median(a["seconds"] / b["seconds"] for a, b in zip(full, chunks, strict=True))
    memory = median(a["bytes"] for a in full) / max(median(b["bytes"] for b in chunks), 1)
    apart = [abs(a - b) for a, b in zip(full[0]["ranks"], chunks[0]["ranks"], strict=True)]
    nll = max(abs(a - b) for a, b in zip(full[0]["logprobs"], chunks[0]["logprobs"], strict=True))
    on = f"{threads} thread{'s' * (threads > 1)}"
    return [
        Figure(
            f"speed, over full logits, {on}",
            speed,
            "x",
            Target("at least", 2) if threads == 1 else None,
        ),
        Figure(f"positions per second, {on}", POSITIONS / median(b["seconds"] for b in chunks)),
        Figure(f"extra memory of full logits, over ours, {on}", memory, "x", Target("at least", 8)),
        Figure(f"extra memory, {on}", median(b["bytes"] for b in chunks) / 2**20, "MiB"),
        Figure(
            f"ranks that differ, {on}",
            100 * sum(map(bool, apart)) / len(apart),
            "%",
            Target("at most", 0.5),
        ),
        Figure(f"largest difference of a rank, {on}", max(apart), "", Target("at most", 1)),
        Figure(
            f"largest difference of a log-probability, {on}", nll, "nats", Target("at most", 1e-5)
        ),
    ]


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(one(sys.argv[1], int(sys.argv[2]))))
    else:
        sys.exit(main())
