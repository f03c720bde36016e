"""CPU time and memory of a process with all its descendants, read from Linux's /proc."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

PROC = Path("/proc")
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def tree(root: int) -> list[int]:
    """Ids of a process and its living descendants."""
    found = [root]
    for pid in found:
        try:
            for listed in (PROC / str(pid) / "task").glob("*/children"):
                found += map(int, listed.read_text().split())
        except (FileNotFoundError, ProcessLookupError):  # ended meanwhile
            continue
    return found


def cpu_s(pids: list[int]) -> float:
    """Seconds of CPU of these processes and of their children that were waited for."""
    total = 0
    for pid in pids:
        try:
            total += sum(
                map(int, (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[11:15])
            )
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total * _TICK_S


def memory_mb(pids: list[int]) -> float:
    """Proportional set size: pages that processes share count once."""
    total = 0
    for pid in pids:
        try:
            lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total * 1024 / 1e6


@dataclass(slots=True)
class Watch:
    """Samples of a growing process tree; times on the system's monotonic clock."""

    root: int
    samples: list[tuple[float, float]] = field(default_factory=list)
    peak_mb: float = 0.0

    def look(self, *, weigh: bool) -> None:
        """Takes one sample; `weigh` the memory too, which costs the kernel some milliseconds per
        process.
        """
        pids = tree(self.root)
        self.samples.append((monotonic(), cpu_s(pids)))
        if weigh:
            self.peak_mb = max(self.peak_mb, memory_mb(pids))

    def cpu_between(self, start_s: float, end_s: float) -> float:
        """Seconds of CPU between two moments, interpolated between samples."""
        return self._cpu_at(end_s) - self._cpu_at(start_s)

    def _cpu_at(self, moment_s: float) -> float:
        later = next(
            (place for place, (time_s, _) in enumerate(self.samples) if time_s >= moment_s),
            len(self.samples) - 1,
        )
        (time_0, cpu_0), (time_1, cpu_1) = self.samples[max(later - 1, 0)], self.samples[later]
        if time_1 <= time_0:
            return cpu_1
        return cpu_0 + (cpu_1 - cpu_0) * min(1.0, (moment_s - time_0) / (time_1 - time_0))
