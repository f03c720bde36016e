"""CPU seconds that a megabyte of text written to be slow takes the search for secrets.

Run: `python -m benchmarks.hostile_texts`
"""

import sys
from collections.abc import Callable
from time import process_time

from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from synth.text.secrets.finder import Finder

REPEATED = (
    "token=",
    "password: ",
    "password is ",
    '"password": ',
    '"password": "',
    "token='x\\'",
    "a@",
    "a://b:",
    "-----BEGIN PRIVATE KEY-----",
)
"""Each begins something that is looked for, again and again."""
MEGABYTE = 1_000_000
GOAL_S = 2


def seconds(search: Callable[[str], object], text: str, rounds: int) -> float:
    """The best of some rounds: what else runs on a core only slows."""
    taken = []
    for _ in range(rounds):
        began = process_time()
        search(text)
        taken.append(process_time() - began)
    return min(taken)


def measure(size: int = MEGABYTE, rounds: int = 2) -> Report:
    """Seconds of each text, and how they grow with its length."""
    search = Finder().found
    search("password = warm")
    figures = []
    growth = 0.0
    for part in REPEATED:
        whole, half = (part * (length // len(part)) for length in (size, size // 2))
        took = seconds(search, whole, rounds)
        growth = max(growth, took / seconds(search, half, rounds))
        figures.append(Figure(f"`{part}` again and again", took, "s", Target("at most", GOAL_S)))
    figures.append(Figure("twice the text takes, at most", growth, "x"))
    how = f"CPU seconds of one process, {size:,} characters each, the best of {rounds} rounds."
    return Report("Hostile texts", tuple(figures), how)


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
